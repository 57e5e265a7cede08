import { bar } from '../cli/output/charts.js';
import { type OnEnd, stoppedAtEnd } from '../servers/run-to-end.js';
import { MeasuringProcess } from './load/measuring-process.js';
import { recordSourceOf } from './load/request-bodies.js';
import { type BenchProgress, type BenchRow, benchRow, figuresDocument, parts } from './report/rows.js';
import { type Columns, type ReportSection, reportTable, rounded, wholeNumber } from './report/tables.js';
import type { CallShape } from './scenarios.js';
import { startBenchService } from './service/bench-service.js';

/**
 * Loads for minutes on an empty database. They show costs that grow with the stored calls or recur every minute, which
 * a window of seconds does not.
 */
const sustainedLoads: Readonly<Record<string, { readonly shape: CallShape; readonly callers: number }>> = {
  'sustained-batch': { shape: 'batch', callers: 4 },
  'sustained-webhook': { shape: 'webhook', callers: 32 },
};
export const sustainedRowNames: readonly string[] = Object.keys(sustainedLoads);

interface Stretch {
  /** Seconds from the start of the load to the end of the stretch. */
  readonly endS: number;
  /** Records scored since the start of the load. */
  readonly recordsSoFar: number;
  readonly row: BenchRow;
}

export interface SustainedOptions {
  readonly bundlePath: string;
  readonly isDemoBundle: boolean;
  readonly minutes: number;
  /** Load before the first stretch, ms. V8 compiles the hot code in this time. */
  readonly firstWarmUpMs: number;
  readonly say: (line: string) => void;
  readonly progressOf: (stretches: number) => BenchProgress;
  readonly onEnd: OnEnd;
}

const stretchMs = 15_000;
const barWidth = 20;

interface SustainedRow {
  readonly name: string;
  readonly callers: number;
  readonly stretches: readonly Stretch[];
}

/**
 * Measures sustained loads, each on a service of its own.
 * @param names some of `sustainedRowNames`
 * @throws Error if the service fails or a reply is wrong
 */
export async function sustainedSection(names: readonly string[], options: SustainedOptions): Promise<ReportSection> {
  const rows: SustainedRow[] = [];
  for (const name of names) rows.push(await measureSustained(name, options));
  const documents = rows.map((row) => ({ ...row, stretches: row.stretches.map(stretchDocument) }));
  const texts = rows.map(({ name, callers, stretches }) =>
    [`${name}, ${callers} callers`, stretchTable(stretches), growthLine(stretches)].join('\n'),
  );
  return { document: documents, text: texts.join('\n\n') };
}

async function measureSustained(name: string, options: SustainedOptions): Promise<SustainedRow> {
  const { bundlePath, minutes, firstWarmUpMs, say, progressOf, onEnd } = options;
  const { shape, callers } = sustainedLoads[name] ?? { shape: 'batch', callers: 1 };
  say(`${name}: starting Redis, MongoDB, a gateway and two workers`);
  const service = await startBenchService({ bundlePath }, onEnd);
  const { gateway, groups, modelId } = service;
  const preparation = { source: recordSourceOf(options), modelId, bundlePath, gateway };
  const generator = await stoppedAtEnd(onEnd, MeasuringProcess.start(preparation));

  const stretches: Stretch[] = [];
  const count = Math.max(1, Math.round((minutes * 60_000) / stretchMs));
  const progress = progressOf(count);
  const label = { name, concurrency: callers, callsPerSecond: undefined };
  for (let index = 0; index < count; index += 1) {
    progress.doing(name);
    const report = await generator.run({
      shape,
      leads: 'known',
      load: { kind: 'closed', callers },
      warmUpMs: index === 0 ? firstWarmUpMs : 0,
      windowMs: stretchMs,
      target: { gateway, groups },
    });
    const { endS, recordsSoFar } = stretches.at(-1) ?? { endS: 0, recordsSoFar: 0 };
    stretches.push({
      endS: endS + report.elapsedMs / 1000,
      recordsSoFar: recordsSoFar + report.records,
      row: benchRow(label, [report]),
    });
    progress.measured(label, report);
  }
  return { name, callers, stretches };
}

const stretchDocument = ({ endS, recordsSoFar, row }: Stretch) => ({
  end_s: rounded(endS),
  records: recordsSoFar,
  ...figuresDocument(row),
});

/** One line per stretch, with a bar for the cost of 1,000 records. */
function stretchTable(stretches: readonly Stretch[]): string {
  const maxMs = Math.max(...stretches.map(totalMs));
  const columns: Columns<Stretch> = [
    ['seconds', ({ endS }) => endS.toFixed(0), 'right'],
    ['records so far', ({ recordsSoFar }) => wholeNumber(recordsSoFar)],
    ['records/s', ({ row }) => wholeNumber(row.recordsPerS.median)],
    ['p50 ms', ({ row }) => row.p50Ms.median.toFixed(1)],
    ['p99 ms', ({ row }) => row.p99Ms.median.toFixed(1)],
    ...parts.map((part) => [part, ({ row }: Stretch) => row.cpuMsPer1000[part].median.toFixed(1)] as const),
    ['CPU-ms/1000', (stretch) => bar(totalMs(stretch) / maxMs, barWidth), 'left'],
  ];
  return reportTable(columns, stretches);
}

const totalMs = ({ row }: Stretch): number => row.cpuMsPer1000.total.median;

function growthLine(stretches: readonly Stretch[]): string {
  const [before = 0, after = 0] = [stretches[0], stretches.at(-1)].map((stretch) => stretch && totalMs(stretch));
  const ratio = (after / before).toFixed(2);
  return `last / first = ${after.toFixed(1)} / ${before.toFixed(1)} CPU-ms per 1000 records = ${ratio}`;
}
