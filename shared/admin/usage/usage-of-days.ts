import { dayStartMs, dayText, monthEndMs, monthOf, monthStartMs } from '../../contract/dates.js';
import type { ShapeOf } from '../../contract/schema.js';
import { type UsageBucket, usageBuckets } from '../../redis/keys.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { settledAfterMs } from '../../store/calls/usage-rollups.js';
import { type BucketDay, CallDayStore } from '../../store/console/call-days.js';
import { defineAction } from '../action.js';
import { chosenDays, type Days } from '../chosen-days.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { usageDaysInput, usageDaysOutput } from '../schemas/usage.js';
import { dayEvents } from './day-events.js';
import { countedRecords, type UsageContext } from './show-usage.js';
import { type UsageDay, usageOfMonths } from './usage-days.js';

type Output = ShapeOf<typeof usageDaysOutput>;

/** Usage, refused calls and events of chosen days, beside the same number of days before. */
export const showUsageDays = defineAction({
  name: 'usage.days',
  description: 'Read records, calls, refused calls and events of at most 92 days, and of as many days before them.',
  role: 'viewer',
  effect: 'read',
  input: usageDaysInput,
  output: usageDaysOutput,
  async run(context, { org_id: organisationId, from, to }) {
    const { database, clock } = context;
    const organisation = await requireOrganisation(new OrganisationStore(database), organisationId);
    const days = chosenDays({ from, to }, { nowMs: clock.now(), createdAt: organisation.created_at });
    const { earlier } = days;
    const all = { first: earlier?.first ?? days.first, last: days.last };
    const shownDays = { from: new Date(dayStartMs(days.first)), until: new Date(dayStartMs(days.last + 1)) };
    const calls = new CallDayStore(database).byDay({
      organisationId,
      // Records of open days are estimated by the calls of their month.
      from: new Date(monthStartMs(monthOf(dayStartMs(all.first)))),
      before: new Date(monthEndMs(dayStartMs(all.last))),
    });
    const [counted, events, ...buckets] = await Promise.all([
      calls,
      dayEvents(database, organisationId, shownDays),
      ...usageBuckets.map((bucket) => bucketDays(context, { organisationId, bucket, days: all, calls })),
    ]);
    return {
      ...{ org_id: organisationId, created_at: organisation.created_at.toISOString() },
      ...{ from: dayText(days.first), to: dayText(days.last) },
      before: earlier === undefined ? null : { from: dayText(earlier.first), to: dayText(earlier.last) },
      buckets: buckets.map((found, index) => {
        const bucket = usageBuckets[index] ?? 'live';
        const ofBucket = refusedByDay(counted, bucket);
        const withRefused = found.map((day) => ({ ...day, refused: ofBucket.get(day.day) ?? 0 }));
        const split = days.first - all.first;
        const [shown, before] = [withRefused.slice(split), withRefused.slice(0, split)];
        return {
          ...{ bucket, sums: sumsOf(shown), days: shown, sums_before: sumsOf(before) },
          days_before: before.map(({ day, records, refused }) => ({ day, records, refused })),
        };
      }),
      events: [...events.events],
      has_more_events: events.hasMore,
    };
  },
});

/** The usage of a bucket by day. */
async function bucketDays(
  context: UsageContext,
  of: {
    readonly organisationId: string;
    readonly bucket: UsageBucket;
    readonly days: Days;
    readonly calls: Promise<readonly BucketDay[]>;
  },
): Promise<UsageDay[]> {
  const { organisationId, bucket, days, calls } = of;
  const nowMs = context.clock.now();
  const months = monthsOf(days);
  // Later no day of a month is open, and nothing is estimated.
  const open = months.filter((month) => nowMs - monthEndMs(monthStartMs(month)) < 2 * settledAfterMs);
  const used = await Promise.all(
    open.map(async (month) => [month, await countedRecords(context, { organisationId, bucket, month })] as const),
  );
  const counters = { organisationId, bucket, months };
  const found = await usageOfMonths(context.database, counters, { nowMs, used: new Map(used), calls });
  const [first, last] = [dayText(days.first), dayText(days.last)];
  return found.filter(({ day }) => day >= first && day <= last);
}

function monthsOf({ first, last }: Days): string[] {
  const months: string[] = [];
  for (let atMs = dayStartMs(first); atMs <= dayStartMs(last); atMs = monthEndMs(atMs)) months.push(monthOf(atMs));
  return months;
}

/** The refused calls of a bucket by day, of all codes. */
const refusedByDay = (counted: readonly BucketDay[], of: UsageBucket): ReadonlyMap<string, number> =>
  new Map(counted.flatMap(({ bucket, day, refused }) => (bucket === of ? [[dayText(day), refused] as const] : [])));

function sumsOf(days: readonly (UsageDay & { readonly refused: number })[]): Output['buckets'][number]['sums'] {
  const sumOf = (figure: (day: (typeof days)[number]) => number) => days.reduce((sum, day) => sum + figure(day), 0);
  return {
    records: sumOf(({ records }) => records),
    calls: days.every(({ calls }) => calls === null) ? null : sumOf(({ calls }) => calls ?? 0),
    refused: sumOf(({ refused }) => refused),
  };
}
