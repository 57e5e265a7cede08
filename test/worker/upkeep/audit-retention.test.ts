import { expect } from 'chai';
import { readWorkerConfig } from '../../../shared/config/config.js';
import { dayMs } from '../../../shared/contract/dates.js';
import { createLogger } from '../../../shared/process/logger.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { AuditLog } from '../../../shared/store/console/audit-log.js';
import { connectUpkeep, type UpkeepConnections } from '../../../worker/upkeep/connect.js';
import { upkeepJobs, upkeepTimings } from '../../../worker/upkeep/repeated-jobs.js';
import { freshDatabases } from '../../support/service/servers.js';

const logger = createLogger('silent', 'test');

describe('audit-retention', () => {
  let connections: UpkeepConnections;
  let log: AuditLog;

  before(async () => {
    const { redisUrl, mongoUrl } = await freshDatabases();
    const config = readWorkerConfig({ REDIS_URL: redisUrl, MONGODB_URL: mongoUrl });
    connections = await connectUpkeep({ ...config, redisUrl, mongoUrl }, logger);
    await prepareDatabase(connections.mongo.database);
    log = new AuditLog(connections.mongo.database);
    for (const [org, days] of [
      ['org_a', 89],
      ['org_a', 91],
      ['org_b', 400],
      [undefined, 92],
    ] as const) {
      const at = new Date(connections.clock.now() - days * dayMs);
      const actor = { name: 'Ada', way: 'command line' as const };
      const entry = { at, actor, action: 'key.set', target: String(days), request_id: 'r' };
      await log.append(org === undefined ? entry : { org, ...entry }, undefined);
    }
  });
  after(() => connections.close());

  /** Runs the job with the settings of a pool. */
  async function runWith(environment: Readonly<Record<string, string>>): Promise<void> {
    const { retentionDays, auditRetentionDays } = readWorkerConfig(environment);
    const options = { timings: upkeepTimings, retentionDays, auditRetentionDays, signal: new AbortController().signal };
    await upkeepJobs(connections, options)
      .find(({ name }) => name === 'audit-retention')
      ?.run();
  }

  /** The ages of the entries in days, of all organisations and of none. */
  async function ages(): Promise<string[]> {
    const pages = await Promise.all(['org_a', 'org_b', undefined].map((org) => log.page(org, { most: 10 })));
    return pages.flatMap(({ entries }) => entries.map(({ target }) => target ?? ''));
  }

  it('removes nothing without AUDIT_RETENTION_DAYS', async () => {
    await runWith({});
    expect(await ages()).to.deep.equal(['89', '91', '400', '92']);
  });

  it('removes the entries of earlier days, of each organisation and of none', async () => {
    await runWith({ AUDIT_RETENTION_DAYS: '90' });
    expect(await ages()).to.deep.equal(['89']);
  });

  it('is at least 90 days', () => {
    expect(() => readWorkerConfig({ AUDIT_RETENTION_DAYS: '89' })).to.throw(
      'AUDIT_RETENTION_DAYS must be a whole number from 90 to 36500, but is "89"',
    );
  });
});
