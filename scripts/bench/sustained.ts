import { bar } from '../cli/output/charts.js';
import { stoppedAtEnd } from '../servers/run-to-end.js';
import { type Figures, parts } from './load/messages.js';
import { type BenchRow, medianFigures, rounded, windowText } from './report/figures.js';
import { ProgressLines } from './report/progress-lines.js';
import { type Columns, type ReportSection, reportTable, type SectionOptions, wholeNumber } from './report/tables.js';
import type { CallShape } from './scenarios.js';
import { startBenchService, startGenerator } from './service/bench-service.js';

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
  readonly figures: Figures;
}

const stretchMs = 15_000;
const barWidth = 20;

/**
 * Measures sustained loads, each on a service of its own.
 * @param names some of `sustainedRowNames`
 * @throws Error if the service fails or a reply is wrong
 */
export async function sustainedSection(names: readonly string[], options: SectionOptions): Promise<ReportSection> {
  const documents: unknown[] = [];
  const texts: string[] = [];
  for (const name of names) {
    const { shape, callers } = sustainedLoads[name] ?? { shape: 'batch', callers: 1 };
    const stretches = await measureStretches(name, { shape, callers }, options);
    documents.push({
      ...{ name, callers },
      stretches: stretches.map(({ endS, recordsSoFar, row }) => ({
        end_s: rounded(endS),
        records: recordsSoFar,
        ...medianFigures(row),
      })),
    });
    texts.push([`${name}, ${callers} callers`, stretchTable(stretches), growthLine(stretches)].join('\n'));
  }
  return { document: documents, text: texts.join('\n\n') };
}

async function measureStretches(
  name: string,
  { shape, callers }: { readonly shape: CallShape; readonly callers: number },
  options: SectionOptions,
): Promise<readonly Stretch[]> {
  const { minutes, firstWarmUpMs, onEnd } = options;
  const count = Math.round((minutes * 60_000) / stretchMs);
  const progress = new ProgressLines(count);
  progress.say(`${name}: starting Redis, MongoDB, a gateway and a worker pool`);
  const service = await startBenchService(options, onEnd);
  const { gateway, groups } = service;
  const generator = await stoppedAtEnd(onEnd, startGenerator(service));
  const stretches: Stretch[] = [];
  let [endS, recordsSoFar] = [0, 0];
  for (let index = 0; index < count; index += 1) {
    progress.doing(name);
    const load = { callers };
    const times = { warmUpMs: index === 0 ? firstWarmUpMs : 0, windowMs: stretchMs };
    const report = await generator.call({ shape, leads: 'known', load, ...times, target: { gateway, groups } });
    const row = { name, load, reports: [report] };
    endS += report.elapsedMs / 1000;
    recordsSoFar += report.records;
    stretches.push({ endS, recordsSoFar, row, figures: report.figures });
    progress.finished(windowText(name, load, report));
  }
  return stretches;
}

/** One line per stretch, with a bar for the cost of 1,000 records. */
function stretchTable(stretches: readonly Stretch[]): string {
  const maxMs = Math.max(...stretches.map(totalMs));
  const columns: Columns<Stretch> = [
    ['seconds', ({ endS }) => endS.toFixed(0), 'right'],
    ['records so far', ({ recordsSoFar }) => wholeNumber(recordsSoFar)],
    ['records/s', ({ figures }) => wholeNumber(figures.records_per_s)],
    ['p50 ms', ({ figures }) => figures.p50_ms.toFixed(1)],
    ['p99 ms', ({ figures }) => figures.p99_ms.toFixed(1)],
    ...parts.map((part) => [part, ({ figures }: Stretch) => figures.cpu_ms_per_1000[part].toFixed(1)] as const),
    ['CPU-ms/1000', (stretch) => bar(totalMs(stretch) / maxMs, barWidth), 'left'],
  ];
  return reportTable(columns, stretches);
}

const totalMs = ({ figures }: Stretch): number => figures.cpu_ms_per_1000.total;

function growthLine(stretches: readonly Stretch[]): string {
  const [before = 0, after = 0] = [stretches[0], stretches.at(-1)].map((stretch) => stretch && totalMs(stretch));
  const ratio = (after / before).toFixed(2);
  return `last / first = ${after.toFixed(1)} / ${before.toFixed(1)} CPU-ms per 1000 records = ${ratio}`;
}
