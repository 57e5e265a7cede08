import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { childProcessIds } from '../../scripts/servers/process-usage.js';
import { ConfigError, readConfig, readWorkerConfig, workerEnvironment } from '../../shared/config/config.js';
import { dayMs } from '../../shared/contract/dates.js';
import { scored, scoredRow } from '../support/http/score-reply.js';
import { leaveOut } from '../support/leave-out.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service/service.js';
import { workspace } from '../support/service/workspace.js';

const remote = { MONGODB_URL: 'mongodb://db.example.com/leadscore', REDIS_URL: 'redis://cache.example.com' };

describe('the environment of a worker process', () => {
  it('workerEnvironment keeps only the variables that the worker or Node reads', () => {
    const given = { ...remote, PATH: '/bin', LOG_LEVEL: 'warn', NODE_OPTIONS: '--no-warnings' };
    const notGiven = {
      KEY_PEPPER: 'a pepper of sixteen characters',
      KEY_PEPPER_PREVIOUS: 'another one of sixteen characters',
      AWS_SECRET_ACCESS_KEY: 'secret',
      NODE_AUTH_TOKEN: 'secret',
      PORT: '8080',
      TZ: undefined,
    };
    expect(workerEnvironment({ ...given, ...notGiven })).to.deep.equal(given);
  });

  it('workerEnvironment suffices for readWorkerConfig, while readConfig requires KEY_PEPPER', () => {
    expect(readWorkerConfig(workerEnvironment(remote))).to.include({ mongoUrl: remote.MONGODB_URL });
    expect(readWorkerConfig(remote)).not.to.have.property('keyPepper');
    expect(() => readConfig(remote)).to.throw(ConfigError, 'KEY_PEPPER');
  });

  describe('in a running pool', () => {
    let service: RunningService;

    before(async function () {
      if (process.platform !== 'linux')
        leaveOut(this, 'only Linux shows the environment of a process', 'run it on Linux');
      this.timeout(startTimeoutMs);
      service = await runningService({
        environment: { OTHER_SECRET: 'of another program', RETENTION_DAYS: '2', WORKERS: '2' },
      });
    });
    after(async function () {
      this.timeout(startTimeoutMs);
      await service?.stop();
    });

    const environmentOf = (pid: number): string[] =>
      readFileSync(`/proc/${pid}/environ`, 'utf8')
        .split('\0')
        .map((line) => line.replace(/=.*/s, ''));

    it('passes RETENTION_DAYS to workers: an older score is not returned as previous_score', async () => {
      const own = await workspace(service);
      const lead = { crm_id: 'a lead', company_size: 120 };
      const daysAgo = await service.startGateway({ CLOCK_OFFSET_MS: String(-5 * dayMs) });
      scored(await own.score([lead], { url: daysAgo.url }));
      expect(scoredRow(await own.score([lead]))).not.to.have.property('previous_score');
      expect(scoredRow(await own.score([lead]))).to.have.property('previous_score');
    });

    it('passes no pepper and no other secret to workers, and no pepper to the pool', () => {
      const { pool, gateways } = service.stack;
      expect(environmentOf(gateways[0]?.pid ?? 0)).to.include.members(['KEY_PEPPER', 'OTHER_SECRET']);
      expect(environmentOf(pool.pid)).to.include('REDIS_URL').and.not.to.include('KEY_PEPPER');
      const workers = childProcessIds(pool.pid);
      expect(workers).to.have.length(4);
      for (const pid of workers) {
        const names = environmentOf(pid);
        expect(names).to.include.members(['REDIS_URL', 'MONGODB_URL']);
        expect(names).not.to.include('KEY_PEPPER');
        expect(names).not.to.include('OTHER_SECRET');
      }
    });
  });
});
