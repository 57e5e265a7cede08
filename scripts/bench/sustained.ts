import { type OnEnd, stoppedAtEnd } from '../stack/run-to-end.js';
import { bar } from '../terminal/bar.js';
import { MeasuringProcess } from './load/measuring-process.js';
import type { LoadReport } from './load/messages.js';
import { recordSourceOf } from './load/request-bodies.js';
import { type BenchProgress, type ByPart, cpuMsPer1000, parts, recordsPerS } from './report/rows.js';
import {
  type Columns,
  mapValues,
  type ReportSection,
  reportTable,
  rounded,
  wholeNumber,
} from './report/tables.js';
import type { CallShape } from './scenarios.js';
import { startBenchService } from './service/bench-service.js';

/**
 * Loads for minutes on an empty database. They show costs that grow with the stored calls or recur every minute, which a
 * window of seconds does not.
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
  readonly recordsPerS: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMsPer1000: ByPart<number>;
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
export async function sustainedSection(
  names: readonly string[],
  options: SustainedOptions,
): Promise<ReportSection> {
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
  const service = await startBenchService({ bundlePath, profileDirectory: undefined }, onEnd);
  const { gateway, groups, modelId } = service;
  const preparation = { source: recordSourceOf(options), modelId, bundlePath, gateway };
  const generator = await stoppedAtEnd(onEnd, MeasuringProcess.start(preparation));
  await generator.introduce();

  const stretches: Stretch[] = [];
  const count = Math.max(1, Math.round((minutes * 60_000) / stretchMs));
  const progress = progressOf(count);
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
    stretches.push(stretchOf(report, stretches.at(-1)));
    progress.measured({ name, concurrency: callers, callsPerSecond: undefined }, report);
  }
  return { name, callers, stretches };
}

const stretchOf = (report: LoadReport, before: Stretch | undefined): Stretch => ({
  endS: (before?.endS ?? 0) + report.elapsedMs / 1000,
  recordsSoFar: (before?.recordsSoFar ?? 0) + report.records,
  recordsPerS: recordsPerS(report),
  p50Ms: report.latencyMs.p50,
  p99Ms: report.latencyMs.p99,
  cpuMsPer1000: cpuMsPer1000(report),
});

const stretchDocument = (stretch: Stretch) => ({
  end_s: rounded(stretch.endS),
  records: stretch.recordsSoFar,
  records_per_s: rounded(stretch.recordsPerS),
  p50_ms: rounded(stretch.p50Ms),
  p99_ms: rounded(stretch.p99Ms),
  cpu_ms_per_1000: mapValues(stretch.cpuMsPer1000, rounded),
});

/** One line per stretch, with a bar for the cost of 1,000 records. */
function stretchTable(stretches: readonly Stretch[]): string {
  const maxMs = Math.max(...stretches.map(({ cpuMsPer1000 }) => cpuMsPer1000.total));
  const columns: Columns<Stretch> = [
    ['seconds', ({ endS }) => endS.toFixed(0), 'right'],
    ['records so far', ({ recordsSoFar }) => wholeNumber(recordsSoFar)],
    ['records/s', (stretch) => wholeNumber(stretch.recordsPerS)],
    ['p50 ms', ({ p50Ms }) => p50Ms.toFixed(1)],
    ['p99 ms', ({ p99Ms }) => p99Ms.toFixed(1)],
    ...parts.map((part) => [part, (stretch: Stretch) => stretch.cpuMsPer1000[part].toFixed(1)] as const),
    ['CPU-ms/1000', (stretch) => bar(stretch.cpuMsPer1000.total / maxMs, barWidth), 'left'],
  ];
  return reportTable(columns, stretches);
}

function growthLine(stretches: readonly Stretch[]): string {
  const before = stretches[0]?.cpuMsPer1000.total ?? 0;
  const after = stretches.at(-1)?.cpuMsPer1000.total ?? 0;
  const ratio = (after / before).toFixed(2);
  return `last / first = ${after.toFixed(1)} / ${before.toFixed(1)} CPU-ms per 1000 records = ${ratio}`;
}
