import { spreadOf } from '../report/percentile.js';
import { type Columns, type ReportSection, reportTable, short, wholeNumber } from '../report/tables.js';
import { heldLargeModels } from './fleet-accounts.js';
import { fleetParts } from './fleet-load.js';
import { batchRecords, type FleetSize, offered } from './fleet-size.js';
import type { FleetFigures, FleetRow } from './fleet-tables.js';

/** A figure that the fleet shall reach. */
export interface FleetGoal {
  readonly name: string;
  readonly measured: number;
  readonly goal: number;
  readonly isReached: boolean;
}

/** Largest allowed ratio of the CPU time per 1,000 records of any row to the first row of its table. */
const maxRatios: Readonly<Record<string, number>> = {
  'fleet beside one organisation': 1.3,
  'cold batches': 1.1,
  rotation: 1.1,
  gateways: 1.15,
  'worker processes': 1.15,
  'partitions of one model': 1.11,
  'large models': 1.3,
  'stored predictions': 1.2,
};
const minCacheHits = 0.95;
const maxLeadBytes = 200;

/** CPU time of the service per 1,000 records, ms: the median of the row's windows. */
const cpuMsPer1000 = ({ windows }: Pick<FleetRow, 'windows'>): number =>
  median(windows, ({ cpuMs, records }) => (1000 * fleetParts.reduce((sum, part) => sum + cpuMs[part], 0)) / records);

/** Compares the figures with the goals, in the order of the tables. */
export function fleetGoals({ rows, leadMemory, cache }: FleetFigures): FleetGoal[] {
  const atMost = (name: string, measured: number, goal: number) => ({
    name,
    measured,
    goal,
    isReached: measured <= goal,
  });
  const ratios = Object.entries(maxRatios).flatMap(([table, goal]) => {
    const [first, ...others] = rows.filter((row) => row.table === table);
    if (first === undefined || others.length === 0) return [];
    return atMost(
      `${table}: CPU time, largest / first`,
      Math.max(...others.map(cpuMsPer1000)) / cpuMsPer1000(first),
      goal,
    );
  });
  const hits = cache === undefined ? undefined : 1 - cache.loads / cache.calls;
  return [
    ...ratios,
    ...(hits === undefined
      ? []
      : [{ name: 'share of model cache hits', measured: hits, goal: minCacheHits, isReached: hits >= minCacheHits }]),
    ...(leadMemory === undefined
      ? []
      : [atMost('Redis bytes of a known lead', leadMemory.bytes / leadMemory.leads, maxLeadBytes)]),
  ];
}

/** Tables of a fleet, its goals, and the document of `--json`. */
export function fleetReport(size: FleetSize, figures: FleetFigures): ReportSection {
  const { rows, cache } = figures;
  const tables = [...new Set(rows.map(({ table }) => table))];
  const goals = fleetGoals(figures);
  const busyCores = rows.flatMap(({ windows }) => windows).map(({ othersCpuMs, elapsedMs }) => othersCpuMs / elapsedMs);
  const text = [
    `${wholeNumber(size.organisations)} organisations, ${wholeNumber(size.models)} models, ${size.activeModels} of them called; ` +
      `offered: ${offered.singlesPerSecond} singles and ${offered.batchesPerSecond} batches of ${batchRecords} a second`,
    ...tables.map((table) =>
      reportTable(
        columnsOf(table, rows),
        rows.filter((row) => row.table === table),
      ),
    ),
    cache &&
      `${wholeNumber(cache.calls)} calls of ${size.activeModels} models, ${heldLargeModels} held by each of 4 processes for singles: ${wholeNumber(cache.loads)} loads`,
    rows.length > 0 && `Other processes took ${(100 * median(busyCores, (cores) => cores)).toFixed(0)} % of a core.`,
    reportTable(goalColumns, goals),
  ];
  const document = {
    size: size.name,
    rows: rows.map((row) => ({ table: row.table, label: row.label, ...documentOf(row) })),
    goals: goals.map(({ name, measured, goal, isReached }) => ({
      name,
      measured: rounded(measured),
      goal,
      reached: isReached,
    })),
  };
  return { document, text: text.filter((part) => part !== undefined && part !== false).join('\n\n') };
}

function columnsOf(table: string, rows: readonly FleetRow[]): Columns<FleetRow> {
  const first = rows.find((row) => row.table === table);
  const base = first === undefined ? Number.NaN : cpuMsPer1000(first);
  return [
    [table, ({ label }) => (/^\d+$/.test(label) ? wholeNumber(Number(label)) : label)],
    [
      'records/s',
      ({ windows }) => wholeNumber(median(windows, ({ records, elapsedMs }) => (1000 * records) / elapsedMs)),
    ],
    ['p99 ms single', ({ windows }) => text(median(windows, ({ p99Ms }) => p99Ms.singles))],
    ['batch', ({ windows }) => text(median(windows, ({ p99Ms }) => p99Ms.batches))],
    ...fleetParts.map((part) => [part, (row: FleetRow) => short(partMsPer1000(row, part))] as const),
    ['CPU-ms/1000', (row) => short(cpuMsPer1000(row))],
    ['ratio', (row) => (cpuMsPer1000(row) / base).toFixed(2)],
  ];
}

const goalColumns: Columns<FleetGoal> = [
  ['goal', ({ name }) => name],
  ['measured', ({ measured }) => short(measured)],
  ['limit', ({ goal }) => String(goal)],
  ['', ({ isReached }) => (isReached ? 'reached' : 'MISSED'), 'left'],
];

const partMsPer1000 = ({ windows }: FleetRow, part: (typeof fleetParts)[number]): number =>
  median(windows, ({ cpuMs, records }) => (1000 * cpuMs[part]) / records);

const documentOf = (row: FleetRow) => ({
  p99_ms: {
    singles: jsonNumber(median(row.windows, ({ p99Ms }) => p99Ms.singles)),
    batches: jsonNumber(median(row.windows, ({ p99Ms }) => p99Ms.batches)),
  },
  cpu_ms_per_1000: {
    ...Object.fromEntries(fleetParts.map((part) => [part, rounded(partMsPer1000(row, part))])),
    total: rounded(cpuMsPer1000(row)),
  },
});

const text = (value: number): string => (Number.isNaN(value) ? '' : value.toFixed(1));
const rounded = (value: number): number => Number(value.toPrecision(4));
const jsonNumber = (value: number): number | null => (Number.isNaN(value) ? null : rounded(value));

const median = <Item>(items: readonly Item[], figure: (item: Item) => number): number =>
  spreadOf(items.map(figure)).median;
