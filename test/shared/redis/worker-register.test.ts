import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { messageVersion } from '../../../shared/messages/score-job.js';
import { latestJoinKey, workerRegisterKey } from '../../../shared/redis/keys.js';
import { WorkerRegister } from '../../../shared/redis/worker-register.js';
import { freshDatabases } from '../../support/service/servers.js';

const one = { id: 'one', partitions: 4 };
const other = { id: 'other', partitions: 16 };
const third = { id: 'third', partitions: 16 };
const memberOf = ({ id, partitions }: typeof one) => `${id} ${partitions} ${messageVersion}`;

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

  it('is read again after a heartbeat only when processes came or went', async () => {
    const fleet = Array.from({ length: 200 }, () => ({ id: randomUUID(), partitions: 16 }));
    for (const worker of fleet) await register.renew(worker);
    const ofOne = new WorkerRegister(redis, 'singles');
    expect(await ofOne.renew(one)).to.have.deep.members([one, ...fleet]);
    const before = redis.stream.bytesRead;
    for (let beat = 0; beat < 10; beat += 1) expect(await ofOne.renew(one)).to.have.length(201);
    expect(redis.stream.bytesRead - before, 'bytes of ten heartbeats').to.be.within(1, 1_000);
    await new WorkerRegister(redis, 'singles').renew(other);
    expect(await ofOne.renew(one)).to.have.deep.members([one, other, ...fleet]);
    expect(redis.stream.bytesRead - before).to.be.above(200 * randomUUID().length);
  });

  it('shows at the next heartbeat that one process has taken the place of another', async () => {
    const ofOther = new WorkerRegister(redis, 'singles');
    await ofOther.renew(other);
    expect(await register.renew(one)).to.have.deep.members([one, other]);
    await ofOther.remove(other);
    await ofOther.renew(third);
    expect(await register.renew(one)).to.have.deep.members([one, third]);
  });

  it('shows at the next heartbeat that a process of a release without notes of joins came or went', async () => {
    await register.renew(one);
    const [seconds] = await redis.time();
    await redis.zadd(workerRegisterKey('singles'), Number(seconds) * 1_000, memberOf(other));
    expect(await register.renew(one)).to.have.deep.members([one, other]);
    await redis.zrem(workerRegisterKey('singles'), memberOf(other));
    expect(await register.renew(one)).to.deep.equal([one]);
  });

  it('is read again after five seconds, also without a noted change', async () => {
    await register.renew(other);
    expect(await register.renew(one)).to.have.deep.members([one, other]);
    const beginMs = performance.now();
    const [seconds] = await redis.time();
    await redis
      .multi()
      .zrem(workerRegisterKey('singles'), memberOf(other))
      .zadd(workerRegisterKey('singles'), Number(seconds) * 1_000, memberOf(third))
      .exec();
    let found = await register.renew(one);
    for (; !found.some(({ id }) => id === third.id); found = await register.renew(one)) {
      await pause(100);
      await redis.zadd(workerRegisterKey('singles'), Number((await redis.time())[0]) * 1_000, memberOf(third));
    }
    expect(found).to.have.deep.members([one, third]);
    expect(performance.now() - beginMs).to.be.within(4_500, 8_000);
  });

  it('is whole again after each process has renewed its heartbeat, when Redis has lost it', async () => {
    const ofOther = new WorkerRegister(redis, 'singles');
    await register.renew(one);
    await ofOther.renew(other);
    expect(await register.renew(one)).to.have.deep.members([one, other]);
    await redis.del(workerRegisterKey('singles'), latestJoinKey('singles'));
    expect(await register.renew(one)).to.deep.equal([one]);
    expect(await ofOther.renew(other)).to.have.deep.members([one, other]);
    expect(await register.renew(one)).to.have.deep.members([one, other]);
  });

  it('drops a process whose heartbeat is four seconds old', async () => {
    await register.renew(one);
    await register.renew(other);
    const [seconds] = await redis.time();
    await redis.zadd(workerRegisterKey('singles'), Number(seconds) * 1_000 - 4_000, memberOf(one));
    expect(await register.renew(other)).to.deep.equal([other]);
  });

  it("drops a heartbeat from before Redis's clock was set back", async () => {
    const [seconds] = await redis.time();
    await redis.zadd(workerRegisterKey('singles'), Number(seconds) * 1_000 + 60_000, memberOf(one));
    expect(await register.renew(other)).to.deep.equal([other]);
  });
});
