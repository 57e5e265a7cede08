import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { startService } from '../../scripts/servers/service-process.js';
import { installationKey } from '../../shared/redis/keys.js';
import { eventually } from '../support/eventually.js';
import { scored } from '../support/http/score-reply.js';
import { freshMongoUrl, testServers } from '../support/service/servers.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service/service.js';
import { workspace } from '../support/service/workspace.js';

describe('a Redis and a MongoDB that do not belong together', () => {
  let service: RunningService;
  let directory: string;

  before(async function () {
    this.timeout(startTimeoutMs);
    directory = mkdtempSync(join(tmpdir(), 'leadscore-installation-'));
    service = await runningService({ gateways: 1 });
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    rmSync(directory, { recursive: true, force: true });
    await service?.stop();
  });

  for (const kind of ['gateway', 'worker'] as const)
    it(`keep a ${kind} from starting, and what is counted as it is`, async function () {
      this.timeout(startTimeoutMs);
      const own = await workspace(service);
      scored(await own.score([{ company_size: 120 }]));
      const logFile = join(directory, kind);
      const environment = {
        REDIS_URL: service.redisServer.url,
        MONGODB_URL: freshMongoUrl((await testServers()).mongoUrl),
        KEY_PEPPER: service.keyPepper,
        ...{ PORT: '0', ADMIN_PORT: '0', WORKER_ADMIN_PORT: '0', WORKERS: '1', LOG_LEVEL: 'warn' },
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
      expect(await readFile(logFile, 'utf8')).to.include('counts usage for another MongoDB than MONGODB_URL');
      expect(scored(await own.score([{ company_size: 120 }])).usage).to.include({ current: 2 });
    });

  it('are not taken for such after Redis was emptied: the next sweep says again whose it is', async function () {
    this.timeout(15_000);
    const id = await service.redis.get(installationKey);
    expect(id).to.be.a('string');
    await service.redis.del(installationKey);
    await eventually(async () => expect(await service.redis.get(installationKey)).to.equal(id), 10_000);
  });
});
