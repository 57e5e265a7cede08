import { monthOf } from '../../../../shared/contract/dates.js';
import { type Allowance, allowanceOf, usageReport } from '../../../../shared/contract/plans.js';
import { invalidateSettled } from '../../../../shared/latest-scores/eviction.js';
import { LatestScores } from '../../../../shared/latest-scores/latest-scores.js';
import { leaseMsOf } from '../../../../shared/quota/leases.js';
import { Quota } from '../../../../shared/quota/quota.js';
import { sweepLeases } from '../../../../shared/quota/sweep.js';
import type { Redis } from '../../../../shared/redis/connect.js';
import { type UsageBucket, type UsageCounter, usageKey } from '../../../../shared/redis/keys.js';
import { requireLease } from '../../../../shared/redis/owner.js';
import { OrganisationStore } from '../../../../shared/store/accounts/organisations.js';
import { UsageLedger } from '../../../../shared/store/calls/usage-ledger.js';
import { type CliContext, type CommandResult, exitWhen, lineWidth } from '../../context/cli-context.js';
import { redisProblem } from '../../context/connections.js';
import { gauge } from '../../output/charts.js';
import { readableCount } from '../../output/readable-numbers.js';
import { renderTable } from '../../output/table.js';
import { requireOrganisation } from '../organisations.js';

/** Parsed options of the usage commands. */
export interface UsageOptions {
  readonly month?: string;
  readonly json?: boolean;
}

const buckets: readonly UsageBucket[] = ['live', 'test'];

/** A counter in Redis, in records. */
interface Counted {
  readonly used: number;
  readonly leased: number;
}

/** Shows both buckets of a month. Reads Redis if it answers, and never writes to it. */
export async function showUsage(
  context: CliContext,
  organisationId: string,
  options: UsageOptions,
): Promise<CommandResult> {
  const { connections, clock, stdout } = context;
  const database = await connections.database();
  const organisation = await requireOrganisation(new OrganisationStore(database), organisationId);
  const month = options.month ?? monthOf(clock.now());
  let problem: string | undefined;
  const redis = await connections.redis().catch((error: unknown) => {
    problem = redisProblem(error);
    return undefined;
  });
  const ledger = new UsageLedger(database);
  const rows = await Promise.all(
    buckets.map(async (bucket) => {
      const counter = { organisationId, bucket, month };
      const [recorded, counted] = await Promise.all([ledger.sum(counter), redis && readCounter(redis, counter)]);
      return { bucket, recorded, counted, allowance: allowanceOf(organisation, bucket) };
    }),
  );
  return {
    document: { org_id: organisationId, month, buckets: rows.map(documentOf) },
    text: describe(rows, { month, problem, width: lineWidth(stdout) }),
  };
}

/** Ends expired leases, then sets both counters of a month to the sum of the ledger. */
export async function reconcileUsage(
  { clock, config, connections, stdout }: CliContext,
  organisationId: string,
  options: UsageOptions,
): Promise<CommandResult> {
  const database = await connections.preparedDatabase();
  await requireOrganisation(new OrganisationStore(database), organisationId);
  const redis = await connections.redis();
  const leaseMs = leaseMsOf(config);
  await requireLease(redis, leaseMs);
  const ledger = new UsageLedger(database);
  const quota = new Quota({ redis, ledger, leaseMs, clock });
  const month = options.month ?? monthOf(clock.now());
  const beforeSettling = invalidateSettled(new LatestScores(redis));
  await sweepLeases({ redis, quota, ledger, beforeSettling });
  const done = [];
  for (const bucket of buckets) done.push(await reconcile({ organisationId, bucket, month }, { redis, quota, ledger }));
  const columns = [
    { name: 'Bucket' },
    { name: 'Before', align: 'right' },
    { name: 'After', align: 'right' },
    { name: 'Ledger', align: 'right' },
    { name: 'Leased', align: 'right' },
    { name: '' },
  ] as const;
  const rows = done.map(({ bucket, before, after, recorded, outcome }) => [
    bucket,
    before === undefined ? '-' : readableCount(before.used),
    readableCount(after.used),
    readableCount(recorded),
    readableCount(after.leased),
    outcomeWords[outcome],
  ]);
  return {
    document: {
      org_id: organisationId,
      month,
      buckets: done.map(({ bucket, before, after, recorded, outcome }) => ({
        bucket,
        used_before: before?.used ?? null,
        used: after.used,
        ledger: recorded,
        leased: after.leased,
        outcome,
      })),
    },
    text: `Usage of ${month} (UTC), records\n\n${renderTable(columns, rows, { width: lineWidth(stdout) })}`,
    ...exitWhen(done.some(({ outcome }) => outcome === 'busy')),
  };
}

type Outcome = 'agreed' | 'corrected' | 'restored' | 'busy';

const outcomeWords: Readonly<Record<Outcome, string>> = {
  agreed: 'matched the ledger',
  corrected: 'corrected from the ledger',
  restored: 'was missing, restored from the ledger',
  busy: 'FAILED: another process is reconciling, or Redis was interrupted; try again',
};

async function reconcile(
  counter: UsageCounter,
  { redis, quota, ledger }: { readonly redis: Redis; readonly quota: Quota; readonly ledger: UsageLedger },
) {
  const before = await readCounter(redis, counter);
  // Reading the usage of a missing counter rebuilds it from the ledger.
  const done = before === undefined ? await quota.usage(counter).then(() => true) : await quota.recount(counter);
  const after = (await readCounter(redis, counter)) ?? { used: 0, leased: 0 };
  const recorded = await ledger.sum(counter);
  let outcome: Outcome = before?.used === after.used ? 'agreed' : 'corrected';
  if (before === undefined) outcome = 'restored';
  if (!done) outcome = 'busy';
  return { bucket: counter.bucket, before, after, recorded, outcome };
}

async function readCounter(redis: Redis, counter: UsageCounter): Promise<Counted | undefined> {
  const [used, leased] = await redis.hmget(usageKey(counter), 'used', 'leased');
  return typeof used === 'string' ? { used: Number(used), leased: Number(leased ?? 0) } : undefined;
}

interface BucketUsage {
  readonly bucket: UsageBucket;
  /** Sum of the ledger. */
  readonly recorded: number;
  readonly counted: Counted | undefined;
  readonly allowance: Allowance;
}

/** V1Usage with the ledger sum, the leased records and the source of `current`. */
const documentOf = ({ bucket, recorded, counted, allowance }: BucketUsage): Record<string, unknown> => ({
  bucket,
  ...usageReport(counted?.used ?? recorded, allowance),
  leased: counted?.leased ?? 0,
  ledger: recorded,
  source: counted === undefined ? 'ledger' : 'redis',
});

/** Calls are still accepted in the grace band, and refused from the hard stop on. */
function standing(used: number, allowance: Allowance): string {
  if (used > 0 && used >= allowance.hardStop) return ' stopped';
  return usageReport(used, allowance).in_grace ? ' grace' : '';
}

function describe(
  rows: readonly BucketUsage[],
  { month, problem, width }: { readonly month: string; readonly problem: string | undefined; readonly width: number },
): string {
  const columns = [
    { name: 'Bucket' },
    { name: 'Used', align: 'right' },
    { name: 'Leased', align: 'right' },
    { name: 'Ledger', align: 'right' },
    { name: 'Limit', align: 'right' },
    { name: 'Stop', align: 'right' },
    { name: 'Left', align: 'right' },
    { name: '' },
  ] as const;
  const cells = rows.map(({ bucket, recorded, counted, allowance }) => {
    const used = counted?.used ?? recorded;
    const report = usageReport(used, allowance);
    return [
      bucket,
      readableCount(used),
      readableCount(counted?.leased ?? 0),
      readableCount(recorded),
      readableCount(allowance.limit),
      readableCount(allowance.hardStop),
      readableCount(report.remaining),
      `${gauge(used / Math.max(1, allowance.limit), 12)}${standing(used, allowance)}`,
    ];
  });
  const source = problem === undefined ? '' : `\n\n${problem}: "Used" is the sum of the ledger.`;
  return `Usage of ${month} (UTC), records\n\n${renderTable(columns, cells, { width })}${source}`;
}
