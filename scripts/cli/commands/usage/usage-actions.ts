import type { reconcileUsageOutput, usageCountersOutput } from '../../../../shared/admin/schemas/usage.js';
import { listRefusedCalls as refusedAction } from '../../../../shared/admin/usage/refused-calls.js';
import { showUsage as showUsageAction } from '../../../../shared/admin/usage/show-usage.js';
import { reconcileUsage as reconcileAction, showUsageCounters } from '../../../../shared/admin/usage/usage-counters.js';
import { usageCsv } from '../../../../shared/admin/usage/usage-days.js';
import type { ShapeOf } from '../../../../shared/contract/schema.js';
import { type CliContext, type CommandResult, exitWhen, lineWidth } from '../../context/cli-context.js';
import { usageError } from '../../context/cli-error.js';
import { redisProblem } from '../../context/connections.js';
import { perform } from '../../context/perform.js';
import { gauge } from '../../output/charts.js';
import { countText } from '../../output/readable-numbers.js';
import { type Columns, tableOf } from '../../output/table.js';

/** Parsed options of the usage commands. */
export interface UsageOptions {
  readonly month?: string;
  /** Only in `usage show`. */
  readonly daily?: boolean;
  readonly csv?: boolean;
  readonly json?: boolean;
}

type BucketUsage = ShapeOf<typeof usageCountersOutput>['buckets'][number];

const inputOf = (organisationId: string, { month }: UsageOptions) => ({
  org_id: organisationId,
  ...(month === undefined ? {} : { month }),
});

/** Shows both buckets of a month. Reads Redis if it answers, and never writes to it. */
export async function showUsage(
  context: CliContext,
  organisationId: string,
  options: UsageOptions,
): Promise<CommandResult> {
  const document = await perform(context, showUsageCounters, inputOf(organisationId, options));
  const problem = await context.connections.redis().then(() => undefined, redisProblem);
  return { document, text: describe(document, { problem, width: lineWidth(context.stdout) }) };
}

/** Shows the days of both buckets of a month. Reads no counter when Redis does not answer. */
export async function showDailyUsage(
  context: CliContext,
  organisationId: string,
  options: UsageOptions,
): Promise<CommandResult> {
  const { daily = false, csv = false, json = false } = options;
  if (csv && !daily) throw usageError('--csv needs --daily');
  if (csv && json) throw usageError('Give --csv or --json, not both');
  const { org_id, month, buckets } = await perform(context, showUsageAction, inputOf(organisationId, options));
  const document = { org_id, month, buckets: buckets.map(({ bucket, days }) => ({ bucket, days })) };
  if (csv) return { document, text: usageCsv({ buckets }).replaceAll('\r\n', '\n').trimEnd() };
  const rows = (buckets[0]?.days ?? []).map(({ day }, index) => ({
    day,
    of: buckets.map(({ days }) => days[index]),
  }));
  const columns: Columns<(typeof rows)[number]> = [
    ['Day', ({ day }) => day, 'whole'],
    ...buckets.flatMap(
      ({ bucket }, index): Columns<(typeof rows)[number]> => [
        [`Records (${bucket})`, ({ of }) => countText(of[index]?.records ?? 0), 'right'],
        [`Calls (${bucket})`, ({ of }) => callsText(of[index]?.calls), 'right'],
      ],
    ),
    ['', ({ of }) => (of.some((day) => day?.is_open) ? 'open' : '')],
  ];
  const none = `${month} has not begun.`;
  const table = tableOf(rows, columns, { width: lineWidth(context.stdout), none });
  const sums = buckets.map(({ bucket, days }) => `${countText(sumOf(days))} ${bucket}`).join(', ');
  return {
    document,
    text: `Usage of ${month} (UTC) by day: ${sums} records\n\n${table}\n\nRecords of an open day may change.`,
  };
}

const sumOf = (days: readonly { readonly records: number }[]): number =>
  days.reduce((sum, { records }) => sum + records, 0);

const callsText = (calls: number | null | undefined): string =>
  calls === null || calls === undefined ? '-' : countText(calls);

/** Lists refused calls of all keys of an organisation. */
export async function listRefusedCalls(context: CliContext, organisationId: string): Promise<CommandResult> {
  const document = await perform(context, refusedAction, { org_id: organisationId });
  const columns: Columns<(typeof document.calls)[number]> = [
    ['Time (UTC)', ({ at }) => at.slice(0, 19).replace('T', ' '), 'whole'],
    ['Key', ({ key_name: name, key_id: id }) => name ?? id],
    ['Code', ({ code, status }) => `${status} ${code}`, 'whole'],
    ['Call', ({ route }) => route, 'whole'],
    ['Request', ({ request_id: id }) => id],
  ];
  const none = 'No calls of its keys were refused in the last seven days.';
  return { document, text: tableOf(document.calls, columns, { width: lineWidth(context.stdout), none }) };
}

/** Ends expired leases, then sets both counters of a month to the sum of the ledger. */
export async function reconcileUsage(
  context: CliContext,
  organisationId: string,
  options: UsageOptions,
): Promise<CommandResult> {
  const document = await perform(context, reconcileAction, inputOf(organisationId, options));
  const columns: Columns<(typeof document.buckets)[number]> = [
    ['Bucket', ({ bucket }) => bucket],
    ['Before', ({ used_before: before }) => (before === null ? '-' : countText(before)), 'right'],
    ['After', ({ used }) => countText(used), 'right'],
    ['Ledger', ({ ledger }) => countText(ledger), 'right'],
    ['Leased', ({ leased }) => countText(leased), 'right'],
    ['', ({ outcome }) => outcomeWords[outcome]],
  ];
  const table = tableOf(document.buckets, columns, { width: lineWidth(context.stdout) });
  return {
    document,
    text: `Usage of ${document.month} (UTC), records\n\n${table}`,
    ...exitWhen(document.buckets.some(({ outcome }) => outcome === 'busy')),
  };
}

const outcomeWords: Readonly<Record<ShapeOf<typeof reconcileUsageOutput>['buckets'][number]['outcome'], string>> = {
  agreed: 'matched the ledger',
  corrected: 'corrected from the ledger',
  restored: 'was missing, restored from the ledger',
  busy: 'FAILED: another process is reconciling, or Redis was interrupted; try again',
};

const stopOf = ({ limit, backstop }: BucketUsage): number => backstop ?? limit;

/** Calls are still accepted in the grace band, and refused from the hard stop on. */
function standing(usage: BucketUsage): string {
  if (usage.current > 0 && usage.current >= stopOf(usage)) return ' stopped';
  return usage.in_grace ? ' grace' : '';
}

const usageColumns: Columns<BucketUsage> = [
  ['Bucket', ({ bucket }) => bucket],
  ['Used', ({ current }) => countText(current), 'right'],
  ['Leased', ({ leased }) => countText(leased), 'right'],
  ['Ledger', ({ ledger }) => countText(ledger), 'right'],
  ['Limit', ({ limit }) => countText(limit), 'right'],
  ['Stop', (usage) => countText(stopOf(usage)), 'right'],
  ['Left', ({ remaining }) => countText(remaining), 'right'],
  ['', (usage) => gauge(usage.current / Math.max(1, usage.limit), 12) + standing(usage)],
];

function describe(
  { month, buckets }: ShapeOf<typeof usageCountersOutput>,
  { problem, width }: { readonly problem: string | undefined; readonly width: number },
): string {
  const source = problem === undefined ? '' : `\n\n${problem}: "Used" is the sum of the ledger.`;
  return `Usage of ${month} (UTC), records\n\n${tableOf(buckets, usageColumns, { width })}${source}`;
}
