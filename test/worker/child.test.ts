import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { childEnvironment } from '../../shared/config/config.js';
import { projectFile } from '../../shared/process/project-root.js';
import { WorkerRegister } from '../../shared/redis/worker-register.js';
import { CrashNote } from '../../worker/pool/crash-note.js';
import type { ChildMessage, PoolMessage } from '../../worker/pool/pool-child.js';
import { freshDatabases } from '../support/service/servers.js';

const id = 'one';

describe('a worker process', () => {
  let redis: Redis;
  let env: Record<string, string>;
  let crashNote: CrashNote;
  let child: ChildProcess;

  before(async () => {
    const { redisUrl, mongoUrl } = await freshDatabases();
    redis = new Redis(redisUrl, { replyMapping: 'legacy' });
    env = childEnvironment({ REDIS_URL: redisUrl, MONGODB_URL: mongoUrl, LANES: '1', LOG_LEVEL: 'fatal' });
  });
  beforeEach(async () => {
    crashNote = new CrashNote();
    child = fork(projectFile('dist/worker/child.js'), [id, 'singles'], {
      env,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc', crashNote.descriptor],
    });
    const [message] = (await once(child, 'message')) as [ChildMessage];
    expect(message).to.deep.equal({ kind: 'ready', unreadable: 0, unseen: 0, loads: 0, hits: 0 });
  });
  afterEach(() => {
    child.kill('SIGKILL');
    crashNote.close();
  });
  after(() => redis.disconnect());

  const registered = async () => (await new WorkerRegister(redis, 'singles').list()).map((each) => each.id);

  it('leaves the register when it is asked to leave', async () => {
    expect(await registered()).to.deep.equal([id]);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).to.deep.equal([0, null]);
    expect(await registered()).to.deep.equal([]);
  });

  it('leaves its entry in the register to its successor, and ends', async () => {
    expect(await registered()).to.deep.equal([id]);
    const message: PoolMessage = { kind: 'succeeded' };
    child.send(message);
    expect(await once(child, 'exit')).to.deep.equal([0, null]);
    expect(await registered()).to.deep.equal([id]);
  });
});
