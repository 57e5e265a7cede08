import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Settings, startService } from '../../../scripts/servers/service-process.js';
import { installationKey, leaseLengthKey } from '../../../shared/redis/keys.js';
import { eventually } from '../../support/eventually.js';
import { scored } from '../../support/http/score-reply.js';
import { freshMongoUrl, testServers } from '../../support/service/servers.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../support/service/service.js';
import { workspace } from '../../support/service/workspace.js';

describe('the owner of a Redis', () => {
  let service: RunningService;
  let directory: string;

  before(async function () {
    this.timeout(startTimeoutMs);
    directory = mkdtempSync(join(tmpdir(), 'leadscore-installation-'));
    service = await sharedService('disposable');
    await ownerId(); // an earlier test may have emptied Redis
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  /** The id of the database that owns this Redis. The pool's sweep restores it after Redis was emptied. */
  const ownerId = (): Promise<string> =>
    eventually(async () => {
      const id = await service.redis.get(installationKey);
      if (id === null) throw new Error('Redis has no owner');
      return id;
    }, 10_000);

  /** Starts a process on the Redis of the service. Asserts that it refuses to start, and returns its log. */
  async function refusalOf(kind: 'gateway' | 'worker', different: Settings): Promise<string> {
    const logFile = join(directory, `${kind} ${Object.keys(different).join(' ')}`);
    const environment = {
      REDIS_URL: service.redisServer.url,
      MONGODB_URL: freshMongoUrl((await testServers()).mongoUrl),
      KEY_PEPPER: service.keyPepper,
      ...{ PORT: '0', ADMIN_PORT: '0', WORKER_ADMIN_PORT: '0', WORKERS: '1', LOG_LEVEL: 'warn' },
      ...different,
    };
    const starting = startService({ kind, environment, log: openSync(logFile, 'w') });
    const outcome = await starting.then(
      async (started) => {
        await started.stop();
        return 'started';
      },
      () => 'refused',
    );
    expect(outcome).to.equal('refused');
    return await readFile(logFile, 'utf8');
  }

  for (const kind of ['gateway', 'worker'] as const)
    it(`stops a starting ${kind} whose Redis counts for another MongoDB, and keeps the usage`, async function () {
      this.timeout(startTimeoutMs);
      const own = await workspace(service);
      scored(await own.score([{ company_size: 120 }]));
      expect(await refusalOf(kind, {})).to.include('counts usage for another MongoDB than MONGODB_URL');
      expect(scored(await own.score([{ company_size: 120 }])).usage).to.include({ current: 2 });
    });

  it('restores the owner of an emptied Redis with the next sweep', async () => {
    const id = await ownerId();
    expect(id).to.be.a('string');
    await service.redis.del(installationKey);
    expect(await ownerId()).to.equal(id);
  });

  for (const kind of ['gateway', 'worker'] as const)
    it(`stops a starting ${kind} whose leases would last longer than those of the running processes`, async function () {
      this.timeout(startTimeoutMs);
      await eventually(async () => expect(await service.redis.get(leaseLengthKey)).to.equal('30000'), 10_000);
      const { databaseName } = service.stores.database;
      const mongoUrl = new URL((await testServers()).mongoUrl);
      mongoUrl.pathname = `/${databaseName}`;
      const log = await refusalOf(kind, { MONGODB_URL: mongoUrl.href, WEBHOOK_TIMEOUT_MS: '60000' });
      expect(log).to.include('give leases of 180000 ms, and those of the running processes 30000 ms');
      expect(log).to.include('stop all gateways and pools for 60 s');
    });
});
