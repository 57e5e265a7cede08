import { dayMs } from '../../shared/contract/dates.js';
import { redisNowMs } from '../../shared/redis/connect.js';
import { ErasureStore, erasingStores } from '../../shared/store/calls/erasures.js';
import { AuditLog } from '../../shared/store/console/audit-log.js';
import type { UpkeepConnections } from './connect.js';
import { removalTimings, removeOrganisations } from './deletions/remove-organisations.js';
import type { UpkeepJob } from './jobs.js';
import { removeUnscoredOutcomes } from './outcome-retention.js';
import { createDueJobs } from './rescore.js';
import { removeOldJobs, removeOldPredictions, retentionTimings } from './retention.js';
import { eraseAgain } from './second-erasure.js';
import { rollUpUsage } from './usage-rollup.js';

/** Intervals of the jobs. */
export const upkeepTimings = {
  retentionEveryMs: 60_000,
  secondErasureEveryMs: 60_000,
  rollUpEveryMs: 10 * 60_000,
  rescoreEveryMs: 60_000,
};

export interface JobListOptions {
  readonly timings: Readonly<typeof upkeepTimings>;
  readonly retentionDays: number;
  /** Undefined: entries of the audit log stay. */
  readonly auditRetentionDays: number | undefined;
  /** Ends the jobs that are running. */
  readonly signal: AbortSignal;
}

/** The repeated jobs of upkeep. */
export function upkeepJobs(
  { redis, mongo, clock, leaseMs, ledger, quota, latest, logger }: UpkeepConnections,
  { timings, retentionDays, auditRetentionDays, signal }: JobListOptions,
): readonly UpkeepJob[] {
  const { database } = mongo;
  const erasureDeps = { erasures: new ErasureStore(database), latest, ...erasingStores(database), logger };
  const atRetention = { every: timings.retentionEveryMs };
  return [
    {
      name: 'retention',
      when: atRetention,
      run: async () => {
        const options = { database, redis, nowMs: clock.now(), retentionDays, timings: retentionTimings, signal };
        const removed = await removeOldPredictions(options);
        if (removed > 0) logger.info({ removed, retentionDays }, 'old predictions removed');
      },
    },
    {
      name: 'outcome-retention',
      when: atRetention,
      run: async () => {
        const removed = await removeUnscoredOutcomes({ database, nowMs: clock.now(), retentionDays, signal });
        if (removed > 0) logger.info({ removed }, 'outcomes of leads without predictions removed');
      },
    },
    {
      name: 'job-retention',
      when: atRetention,
      run: async () => {
        const removed = await removeOldJobs({ database, nowMs: clock.now(), signal });
        if (removed > 0) logger.info({ removed }, 'old bulk jobs removed');
      },
    },
    {
      name: 'audit-retention',
      when: atRetention,
      run: async () => {
        if (auditRetentionDays === undefined) return;
        const removed = await new AuditLog(database).removeBefore(new Date(clock.now() - auditRetentionDays * dayMs));
        if (removed > 0) logger.info({ removed, auditRetentionDays }, 'old entries of the audit log removed');
      },
    },
    {
      name: 'org-deletions',
      when: atRetention,
      run: async () =>
        void (await removeOrganisations({ database, redis, clock, leaseMs, logger, timings: removalTimings, signal })),
    },
    {
      name: 'erasures',
      when: { every: timings.secondErasureEveryMs },
      run: async () => void (await eraseAgain(erasureDeps, { nowMs: await redisNowMs(redis), signal })),
    },
    {
      name: 'rescore',
      when: { every: timings.rescoreEveryMs },
      run: () => createDueJobs({ database, clock, logger }),
    },
    {
      name: 'usage-rollup',
      when: { every: timings.rollUpEveryMs },
      run: () => rollUpUsage({ activeCounters: quota.activeCounters, ledger, logger }),
    },
  ];
}
