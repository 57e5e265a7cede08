import { monthEndMs, monthOf, monthStartMs } from '../../contract/dates.js';
import { allowanceOf, usageReport } from '../../contract/plans.js';
import { type UsageBucket, type UsageCounter, usageBuckets } from '../../redis/keys.js';
import { type Organisation, OrganisationStore } from '../../store/accounts/organisations.js';
import { type BucketDay, CallDayStore, type DayRange } from '../../store/console/call-days.js';
import { type ActionContext, defineAction } from '../action.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { usageInput, usageOutput } from '../schemas/usage.js';
import { readCounter } from './usage-counters.js';
import { firstMonth, monthBefore, type UsageDay, usageDays } from './usage-days.js';

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
    return {
      org_id: organisationId,
      created_at: organisation.created_at.toISOString(),
      month,
      resets_at: new Date(monthEndMs(monthStartMs(month))).toISOString(),
      buckets: shown,
      months: await Promise.all(
        months.map(async (each) => {
          const [live = 0, test = 0] = await Promise.all(
            usageBuckets.map(async (bucket, index) => {
              const own = each === month ? shown.find((usage) => usage.bucket === bucket) : undefined;
              if (own !== undefined) return own.current;
              return await monthTotal(context, { organisationId, bucket, month: each }, first[index]);
            }),
          );
          return { month: each, live, test };
        }),
      ),
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
 * The records of a month: as the counter in Redis says, or else the sum of the days.
 * @param first the month of the first call
 */
async function monthTotal(context: UsageContext, counter: UsageCounter, first: string | undefined): Promise<number> {
  const used = await countedRecords(context, counter);
  if (used !== undefined) return used;
  if (first === undefined || counter.month < first) return 0;
  const nowMs = context.clock.now();
  return sumOfDays(await usageDays(context.database, counter, { nowMs, used, calls: noCalls }));
}

/** The counter in Redis; undefined when it is not known. */
export const countedRecords = async ({ redis }: UsageContext, counter: UsageCounter): Promise<number | undefined> =>
  await redis()
    .then(async (connection) => (await readCounter(connection, counter))?.used)
    .catch(() => undefined);

const noCalls = Promise.resolve([]);

const sumOfDays = (days: readonly UsageDay[]): number => days.reduce((sum, { records }) => sum + records, 0);
