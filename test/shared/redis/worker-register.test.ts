import { expect } from 'chai';
import { Redis } from 'ioredis';
import { messageVersion } from '../../../shared/messages/score-job.js';
import { workerRegisterKey } from '../../../shared/redis/keys.js';
import { WorkerRegister } from '../../../shared/redis/worker-register.js';
import { freshDatabases } from '../../support/service/servers.js';

const one = { id: 'one', partitions: 4 };
const other = { id: 'other', partitions: 16 };

describe('the register of workers', () => {
  let redis: Redis;
  let register: WorkerRegister;

  beforeEach(async () => {
    redis = new Redis((await freshDatabases()).redisUrl, { replyMapping: 'legacy' });
    register = new WorkerRegister(redis, 'singles');
  });
  afterEach(() => redis.disconnect());

  it('lists the processes that renew their heartbeat, and what each can serve', async () => {
    expect(await register.renew(one)).to.deep.equal([one]);
    expect(await register.renew(other)).to.have.deep.members([one, other]);
    expect(await register.list()).to.have.deep.members([one, other]);
  });

  it('drops a process at once when it is removed', async () => {
    await register.renew(one);
    await register.renew(other);
    await register.remove(one);
    expect(await register.list()).to.deep.equal([other]);
  });

  it('keeps the processes of bulk jobs apart', async () => {
    const ofBulk = new WorkerRegister(redis, 'bulk');
    await register.renew(one);
    expect(await ofBulk.renew(other)).to.deep.equal([other]);
    expect(await register.list()).to.deep.equal([one]);
    await register.remove(other);
    expect(await ofBulk.list()).to.deep.equal([other]);
    await ofBulk.remove(other);
    expect(await ofBulk.list()).to.deep.equal([]);
  });

  it('lists the processes of its own message version, and counts those of each', async () => {
    const ofNext = new WorkerRegister(redis, 'singles', messageVersion + 1);
    await register.renew(one);
    expect(await ofNext.renew(other)).to.deep.equal([other]);
    expect(await register.list()).to.deep.equal([one]);
    expect(await register.listAll()).to.deep.equal(
      new Map([
        [messageVersion, [one]],
        [messageVersion + 1, [other]],
      ]),
    );
    await ofNext.remove(other);
    expect(await register.listAll()).to.deep.equal(new Map([[messageVersion, [one]]]));
  });

  it('drops a process whose heartbeat is four seconds old', async () => {
    await register.renew(one);
    await register.renew(other);
    const [seconds] = await redis.time();
    await redis.zadd(workerRegisterKey('singles'), Number(seconds) * 1_000 - 4_000, `one 4 ${messageVersion}`);
    expect(await register.renew(other)).to.deep.equal([other]);
  });

  it("drops a heartbeat from before Redis's clock was set back", async () => {
    const [seconds] = await redis.time();
    await redis.zadd(workerRegisterKey('singles'), Number(seconds) * 1_000 + 60_000, `one 4 ${messageVersion}`);
    expect(await register.renew(other)).to.deep.equal([other]);
  });
});
