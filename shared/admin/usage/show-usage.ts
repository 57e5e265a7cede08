import { monthEndMs, monthOf, monthStartMs } from '../../contract/dates.js';
import { allowanceOf, usageReport } from '../../contract/plans.js';
import { type UsageBucket, type UsageCounter, usageBuckets } from '../../redis/keys.js';
import { type Organisation, OrganisationStore } from '../../store/accounts/organisations.js';
import { type BucketDay, CallDayStore, type DayRange } from '../../store/console/call-days.js';
import { type ActionContext, defineAction } from '../action.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { usageInput, usageOutput } from '../schemas/usage.js';
import { readCounter } from './usage-counters.js';
import { firstMonth, monthBefore, type UsageDay, usageDays, usageOfMonths } from './usage-days.js';

const monthsShown = 12;

/** The usage of a month by day, and of the last twelve months. */
export const showUsage = defineAction({
  name: 'usage.show',
  description: 'Read the usage of a month by day, and of the last twelve months. As CSV with format=csv.',
  role: 'viewer',
  effect: 'read',
  input: usageInput,
  output: usageOutput,
  async run(context, { org_id: organisationId, month = monthOf(context.clock.now()) }) {
    const { database, clock } = context;
    const organisation = await requireOrganisation(new OrganisationStore(database), organisationId);
    const calls = new CallDayStore(database).byDay(daysOf(organisationId, month));
    const [shown, first] = await Promise.all([
      Promise.all(usageBuckets.map((bucket) => monthUsage(context, { organisation, bucket, month, calls }))),
      Promise.all(usageBuckets.map((bucket) => firstMonth(database, { organisationId, bucket }))),
      calls,
    ]);
    const months = Array.from({ length: monthsShown }, (_, index) => monthBefore(clock.now(), monthsShown - 1 - index));
    const totals = await Promise.all(
      usageBuckets.map((bucket, index) => {
        const known = new Map([[month, shown[index]?.current]]);
        return monthTotals(context, { organisationId, bucket, months, first: first[index], known });
      }),
    );
    return {
      org_id: organisationId,
      created_at: organisation.created_at.toISOString(),
      month,
      resets_at: new Date(monthEndMs(monthStartMs(month))).toISOString(),
      buckets: shown,
      months: months.map((each) => ({ month: each, live: totals[0]?.get(each) ?? 0, test: totals[1]?.get(each) ?? 0 })),
    };
  },
});

/** The days of an organisation in a month. */
export function daysOf(organisationId: string, month: string): DayRange {
  const startMs = monthStartMs(month);
  return { organisationId, from: new Date(startMs), before: new Date(monthEndMs(startMs)) };
}

/** The usage of a bucket in a month, with its days. */
export async function monthUsage(
  context: UsageContext,
  of: {
    readonly organisation: Organisation;
    readonly bucket: UsageBucket;
    readonly month: string;
    /** By day, of any buckets. */
    readonly calls: Promise<readonly BucketDay[]>;
  },
) {
  const { organisation, bucket, month, calls } = of;
  const counter = { organisationId: organisation._id, bucket, month };
  const used = await countedRecords(context, counter);
  const days = await usageDays(context.database, counter, { nowMs: context.clock.now(), used, calls });
  return { bucket, ...usageReport(used ?? sumOfDays(days), allowanceOf(organisation, bucket)), days };
}

export type UsageContext = Pick<ActionContext, 'database' | 'clock' | 'redis'>;

/**
 * The records of months: as the counters in Redis say, or else the sums of their days.
 * @param of.months without gaps, earliest first
 * @param of.first the month of the first call; undefined without any
 * @param of.known months whose records are known
 * @returns by month; a month without records may be absent
 */
async function monthTotals(
  context: UsageContext,
  of: {
    readonly organisationId: string;
    readonly bucket: UsageBucket;
    readonly months: readonly string[];
    readonly first: string | undefined;
    readonly known: ReadonlyMap<string, number | undefined>;
  },
): Promise<ReadonlyMap<string, number>> {
  const { organisationId, bucket, months, first, known } = of;
  const counted = await Promise.all(
    months.map(async (month) => {
      return [month, known.get(month) ?? (await countedRecords(context, { organisationId, bucket, month }))] as const;
    }),
  );
  const totals = new Map(counted.flatMap(([month, used]) => (used === undefined ? [] : [[month, used] as const])));
  const unknown = months.filter((month) => !totals.has(month) && first !== undefined && month >= first);
  const read = months.filter((month) => month >= (unknown[0] ?? '~') && month <= (unknown.at(-1) ?? ''));
  const calls = Promise.resolve([]);
  const counters = { organisationId, bucket, months: read };
  const days = await usageOfMonths(context.database, counters, { nowMs: context.clock.now(), used: new Map(), calls });
  for (const month of unknown) totals.set(month, sumOfDays(days.filter(({ day }) => day.startsWith(month))));
  return totals;
}

/** The counter in Redis; undefined when it is not known. */
export const countedRecords = async ({ redis }: UsageContext, counter: UsageCounter): Promise<number | undefined> =>
  await redis()
    .then(async (connection) => (await readCounter(connection, counter))?.used)
    .catch(() => undefined);

const sumOfDays = (days: readonly UsageDay[]): number => days.reduce((sum, { records }) => sum + records, 0);
