import { monthOf } from '../../contract/dates.js';
import { allowanceOf, usageReport } from '../../contract/plans.js';
import { invalidateSettled } from '../../latest-scores/eviction.js';
import { LatestScores } from '../../latest-scores/latest-scores.js';
import { Quota } from '../../quota/quota.js';
import { sweepLeases } from '../../quota/sweep.js';
import type { Redis } from '../../redis/connect.js';
import { type UsageCounter, usageBuckets, usageKey } from '../../redis/keys.js';
import { requireLease } from '../../redis/owner.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { UsageLedger } from '../../store/calls/usage-ledger.js';
import { defineAction } from '../action.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { reconcileUsageOutput, usageCountersOutput, usageInput } from '../schemas/usage.js';

/** A counter in Redis, in records. */
interface Counted {
  readonly used: number;
  readonly leased: number;
}

/** Shows both buckets of a month. Reads Redis if it answers, and never writes to it. */
export const showUsageCounters = defineAction({
  name: 'usage.counters',
  description: 'Read the counters in Redis beside the sum of the ledger. Reads every call of the month.',
  role: 'operator',
  effect: 'read',
  input: usageInput,
  output: usageCountersOutput,
  async run({ database, clock, redis }, { org_id: organisationId, month = monthOf(clock.now()) }) {
    const organisation = await requireOrganisation(new OrganisationStore(database), organisationId);
    const connection = await redis().catch(() => undefined);
    const ledger = new UsageLedger(database);
    const shown = usageBuckets.map(async (bucket) => {
      const counter = { organisationId, bucket, month };
      const [recorded, counted] = await Promise.all([
        ledger.sum(counter),
        connection && readCounter(connection, counter),
      ]);
      return {
        bucket,
        ...usageReport(counted?.used ?? recorded, allowanceOf(organisation, bucket)),
        leased: counted?.leased ?? 0,
        ledger: recorded,
        source: counted === undefined ? ('ledger' as const) : ('redis' as const),
      };
    });
    return { org_id: organisationId, month, buckets: await Promise.all(shown) };
  },
});

/** Ends expired leases, then sets both counters of a month to the sum of the ledger. */
export const reconcileUsage = defineAction({
  name: 'usage.reconcile',
  description: 'Set the counters in Redis to the sum of the ledger. Safe while calls are served.',
  role: 'operator',
  effect: 'steps',
  input: usageInput,
  output: reconcileUsageOutput,
  async run(context, { org_id: organisationId, month = monthOf(context.clock.now()) }) {
    const { database, clock, leaseMs, record } = context;
    await requireOrganisation(new OrganisationStore(database), organisationId);
    const redis = await context.redis();
    await requireLease(redis, leaseMs);
    await record({ organisationId, after: { month } });
    const ledger = new UsageLedger(database);
    const quota = new Quota({ redis, ledger, leaseMs, clock });
    await sweepLeases({ redis, quota, ledger, beforeSettling: invalidateSettled(new LatestScores(redis)) });
    const done = [];
    for (const bucket of usageBuckets)
      done.push(await reconcile({ organisationId, bucket, month }, { redis, quota, ledger }));
    return { org_id: organisationId, month, buckets: done };
  },
});

async function reconcile(
  counter: UsageCounter,
  { redis, quota, ledger }: { readonly redis: Redis; readonly quota: Quota; readonly ledger: UsageLedger },
) {
  const before = await readCounter(redis, counter);
  // Reading the usage of a missing counter rebuilds it from the ledger.
  const done = before === undefined ? await quota.usage(counter).then(() => true) : await quota.recount(counter);
  const after = (await readCounter(redis, counter)) ?? { used: 0, leased: 0 };
  let outcome: 'agreed' | 'corrected' | 'restored' | 'busy' = before?.used === after.used ? 'agreed' : 'corrected';
  if (before === undefined) outcome = 'restored';
  if (!done) outcome = 'busy';
  return {
    bucket: counter.bucket,
    used_before: before?.used ?? null,
    used: after.used,
    ledger: await ledger.sum(counter),
    leased: after.leased,
    outcome,
  };
}

/** @returns undefined for a counter that Redis does not know */
export async function readCounter(redis: Redis, counter: UsageCounter): Promise<Counted | undefined> {
  const [used, leased] = await redis.hmget(usageKey(counter), 'used', 'leased');
  return typeof used === 'string' ? { used: Number(used), leased: Number(leased ?? 0) } : undefined;
}
