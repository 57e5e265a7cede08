import { monthEndMs, monthOf, monthStartMs } from '../../contract/dates.js';
import { allowanceOf, usageReport } from '../../contract/plans.js';
import { type UsageBucket, usageBuckets } from '../../redis/keys.js';
import { type Organisation, OrganisationStore } from '../../store/accounts/organisations.js';
import { type CallHour, CallHourStore } from '../../store/console/call-hours.js';
import { type ActionContext, defineAction } from '../action.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { usageInput, usageOutput } from '../schemas/usage.js';
import { readCounter } from './usage-counters.js';
import { monthBefore, type UsageDay, usageDays } from './usage-days.js';

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
    const hours = await hoursOfMonth(context, organisationId, month);
    const shown = await Promise.all(
      usageBuckets.map((bucket) => monthUsage(context, { organisation, bucket, month, hours })),
    );
    const months = Array.from({ length: monthsShown }, (_, index) => monthBefore(clock.now(), monthsShown - 1 - index));
    return {
      org_id: organisationId,
      month,
      resets_at: new Date(monthEndMs(monthStartMs(month))).toISOString(),
      buckets: shown,
      months: await Promise.all(
        months.map(async (each) => {
          const [live = 0, test = 0] = await Promise.all(
            usageBuckets.map(async (bucket) => {
              const own = each === month ? shown.find((usage) => usage.bucket === bucket) : undefined;
              return (
                own?.current ?? (await monthUsage(context, { organisation, bucket, month: each, hours: [] })).current
              );
            }),
          );
          return { month: each, live, test };
        }),
      ),
    };
  },
});

/** The calls by hour of an organisation in a month. */
export async function hoursOfMonth(
  { database }: Pick<ActionContext, 'database'>,
  organisationId: string,
  month: string,
): Promise<CallHour[]> {
  const startMs = monthStartMs(month);
  return await new CallHourStore(database).between(organisationId, new Date(startMs), new Date(monthEndMs(startMs)));
}

/** The usage of a bucket in a month, with its days. The counter in Redis counts, or else the sum of the days. */
export async function monthUsage(
  { database, clock, redis }: Pick<ActionContext, 'database' | 'clock' | 'redis'>,
  of: {
    readonly organisation: Organisation;
    readonly bucket: UsageBucket;
    readonly month: string;
    readonly hours: readonly CallHour[];
  },
) {
  const { organisation, bucket, month } = of;
  const counter = { organisationId: organisation._id, bucket, month };
  const counted = await redis()
    .then((connection) => readCounter(connection, counter))
    .catch(() => undefined);
  const hours = of.hours.filter((hour) => hour.bucket === bucket);
  const days = await usageDays(database, counter, { nowMs: clock.now(), used: counted?.used, hours });
  const current = counted?.used ?? sumOfDays(days);
  return { bucket, ...usageReport(current, allowanceOf(organisation, bucket)), days };
}

const sumOfDays = (days: readonly UsageDay[]): number => days.reduce((sum, { records }) => sum + records, 0);
