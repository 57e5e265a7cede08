import { expect } from 'chai';
import { Locks } from '../../shared/redis/lock.js';
import { type ProcessNote, ProcessRegister } from '../../shared/redis/process-register.js';
import { WorkerRegister } from '../../shared/redis/worker-register.js';
import { freshDatabases } from '../support/service/servers.js';
import { expectTurns, type MixedScripts, mixedScripts } from './mixed-scripts.js';

/** See also test/shared/quota/model/quota.model.test.ts and test/shared/latest-scores/latest-scores.model.test.ts. */
describe('scripts of the last release beside those of this one', () => {
  let mixed: MixedScripts;

  before(async () => {
    mixed = await mixedScripts((await freshDatabases()).redisUrl);
  });
  beforeEach(() => mixed.redis.flushdb());
  after(() => mixed.redis.disconnect());

  const note = (pid: number): ProcessNote => ({
    ...{ kind: 'pool', release: '0.1.0', host: 'web-1', pid, upMs: pid, settings: {} },
    ...{ clockAheadMs: 0, disk: null },
  });

  it('read the notes of all processes, whichever wrote them', async () => {
    const register = new ProcessRegister(mixed.redis);
    for (const pid of [1, 2, 3, 4]) await register.note(`process ${pid}`, note(pid));
    for (let time = 0; time < 4; time += 1)
      expect((await register.list()).map(({ pid }) => pid)).to.deep.equal([4, 3, 2, 1]);
  });

  it('read the register of workers, whichever wrote it', async () => {
    const register = new WorkerRegister(mixed.redis, 'singles');
    const worker = (id: string) => ({ id, partitions: 1 });
    for (const id of ['a', 'b', 'c', 'd', 'a', 'b', 'c', 'd']) await register.renew(worker(id));
    for (let time = 0; time < 4; time += 1)
      expect((await register.list()).map(({ id }) => id)).to.have.members([...'abcd']);
    for (const id of ['a', 'b']) await register.remove(worker(id));
    for (let time = 0; time < 2; time += 1)
      expect((await register.list()).map(({ id }) => id)).to.have.members([...'cd']);
  });

  it('drop and renew a lock for its holder alone', async () => {
    const locks = new Locks(mixed.redis);
    for (let time = 0; time < 4; time += 1) {
      const lock = await locks.take('a lock', { ttlMs: 60_000 });
      expect(await locks.take('a lock', { ttlMs: 60_000 })).to.equal(undefined);
      await lock?.drop();
      const other = await locks.take('a lock', { ttlMs: 60_000 });
      expect(other).to.not.equal(undefined);
      await lock?.drop();
      expect(await mixed.redis.get('a lock')).to.equal(other?.token);
      await other?.drop();
    }
  });

  it('have all run here in turns, but those that tests of models play', () => expectTurns(mixed.runs, 'shared/redis/'));
});
