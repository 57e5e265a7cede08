import { join } from 'node:path';
import { childProcessIds, machineBusyMs, type ProcessGroups, readUsage } from '../../servers/process-usage.js';
import { stoppedAtEnd, temporaryDirectory } from '../../servers/run-to-end.js';
import { rounded } from '../report/figures.js';
import {
  type Columns,
  type ReportSection,
  reachedText,
  reportTable,
  type SectionOptions,
  wholeNumber,
} from '../report/tables.js';
import { type BenchService, startBenchService, startGenerator } from '../service/bench-service.js';
import { maxLeads, writeBulkFile } from './bulk-file.js';
import { BulkCaller } from './bulk-job.js';

export const bulkRowName = 'bulk';

export const quickRows = 100_000;
const goalRowsPerS = 20_000;
const rssEveryMs = 250;
const singlesPerSecond = 100;
const singlesWindowMs = 8_000;

/** Figures of one job, under their names in `--json`. */
interface JobFigures {
  readonly rows: number;
  readonly rows_per_s: number;
  readonly scoring_rows_per_s: number;
  readonly upload_s: number;
  readonly reading_s: number;
  readonly scoring_s: number;
  readonly download_s: number;
  readonly cpu_ms_per_1000: Readonly<Record<string, number>>;
  readonly max_rss_mb: { readonly gateway: number; readonly runner: number };
  readonly others_cores: number;
}

/** Single calls alone, and beside a job. */
interface SinglesFigures {
  readonly alone: { readonly p50_ms: number; readonly p99_ms: number };
  readonly beside: { readonly p50_ms: number; readonly p99_ms: number };
  readonly job_rows_per_s: number;
}

/**
 * Measures bulk jobs on a service of its own: a first job scores all leads, further ones are measured. Then single
 * calls alone and beside a job.
 * @throws Error if the service fails or results are wrong
 */
export async function bulkSection(_names: readonly string[], options: SectionOptions): Promise<ReportSection> {
  const { say, onEnd, isQuick, repeats } = options;
  const rows = isQuick ? Math.min(quickRows, options.rows) : options.rows;
  const directory = await temporaryDirectory(onEnd, 'bulk');
  const path = join(directory, 'leads.csv');
  say(`bulk: writing a CSV of ${wholeNumber(rows)} rows`);
  const bytes = await writeBulkFile(path, rows);
  say('bulk: starting Redis, MongoDB, a gateway, a worker pool and a runner');
  const service = await startBenchService({ ...options, withRunner: true }, onEnd);
  const caller = new BulkCaller(service.gateway, service.source.modelId);
  say('bulk: a first job, so that all leads have a previous score');
  await caller.run(rows > maxLeads ? await fileOfAllLeads(directory) : path);
  const jobs: JobFigures[] = [];
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const figures = await measureJob(groupsOf(service), caller, { path, rows });
    jobs.push(figures);
    say(`bulk: ${wholeNumber(figures.rows_per_s)} rows/s, ${figures.cpu_ms_per_1000.total?.toFixed(1)} CPU-ms/1000`);
  }
  const singles = isQuick ? undefined : await measureSingles(service, caller, path, options);
  const document = { rows, bytes, jobs, ...(singles === undefined ? {} : { singles }) };
  return { document, text: [jobTable(jobs), ...(singles === undefined ? [] : [singlesText(singles)])].join('\n\n') };
}

/** Each lead once: the rows of a larger file repeat them. @returns its path */
async function fileOfAllLeads(directory: string): Promise<string> {
  const path = join(directory, 'all-leads.csv');
  await writeBulkFile(path, maxLeads);
  return path;
}

/** All processes that serve a job. The pool has started those of low priority by the end of the first job. */
export function groupsOf({ groups }: BenchService): ProcessGroups {
  const [pool = 0] = groups.workers ?? [];
  return { ...groups, workers: [pool, ...childProcessIds(pool)] };
}

/** Runs a job and downloads its results, whose CPU time is not counted. */
export async function measureJob(
  groups: ProcessGroups,
  caller: BulkCaller,
  { path, rows }: { readonly path: string; readonly rows: number },
): Promise<JobFigures> {
  const memory = watchMemory(groups);
  try {
    const [before, busyBefore, own] = [readUsage(groups), machineBusyMs(), process.cpuUsage()];
    const { jobId, times } = await caller.run(path);
    const [after, busyAfter, ownUsed] = [readUsage(groups), machineBusyMs(), process.cpuUsage(own)];
    const downloadS = await caller.download(jobId, rows);
    const used = Object.keys(groups).map(
      (name) => [name, (after[name]?.cpuMs ?? 0) - (before[name]?.cpuMs ?? 0)] as const,
    );
    const total = used.reduce((sum, [, ms]) => sum + ms, 0);
    const { uploadedS, readS, completedS } = times;
    const ownMs = (ownUsed.user + ownUsed.system) / 1_000;
    return {
      rows,
      rows_per_s: rounded(rows / completedS),
      scoring_rows_per_s: rounded(rows / (completedS - readS)),
      upload_s: rounded(uploadedS),
      reading_s: rounded(readS - uploadedS),
      scoring_s: rounded(completedS - readS),
      download_s: rounded(downloadS),
      cpu_ms_per_1000: Object.fromEntries(
        [...used, ['total', total] as const].map(([name, ms]) => [name, rounded((1_000 * ms) / rows)]),
      ),
      max_rss_mb: { gateway: rounded(memory.max.gateway), runner: rounded(memory.max.runner) },
      others_cores: rounded(Math.max(0, busyAfter - busyBefore - total - ownMs) / (1_000 * completedS)),
    };
  } finally {
    memory.stop();
  }
}

/**
 * Reads the memory of the gateway and the runner from now on. Upload, reading, scoring and download need different
 * parts.
 */
function watchMemory(groups: ProcessGroups) {
  const max = { gateway: 0, runner: 0 };
  const timer = setInterval(() => {
    const { gateway, runner } = readUsage(groups);
    max.gateway = Math.max(max.gateway, gateway?.rssMb ?? 0);
    max.runner = Math.max(max.runner, runner?.rssMb ?? 0);
  }, rssEveryMs);
  return { max, stop: () => clearInterval(timer) };
}

async function measureSingles(
  service: BenchService,
  caller: BulkCaller,
  path: string,
  { firstWarmUpMs, onEnd, say }: SectionOptions,
): Promise<SinglesFigures> {
  say('bulk: single calls alone, and beside a job');
  const generator = await stoppedAtEnd(onEnd, startGenerator(service));
  const { gateway, groups } = service;
  const load = { callsPerSecond: singlesPerSecond };
  const measure = (warmUpMs: number) =>
    generator.call({
      ...({ shape: 'single', leads: 'known', load, warmUpMs, windowMs: singlesWindowMs } as const),
      target: { gateway, groups },
    });
  const alone = await measure(firstWarmUpMs);
  const jobId = await caller.create();
  await caller.upload(jobId, path);
  const first = await caller.until(jobId, ['running']);
  const startMs = performance.now();
  const beside = await measure(2_000);
  const last = await caller.read(jobId);
  if (last.state !== 'running') throw new Error('the job ended before the window of single calls: use more --rows');
  const scored = last.progress.scored - first.progress.scored;
  const rate = (1_000 * scored) / (performance.now() - startMs);
  await caller.cancel(jobId);
  return {
    alone: { p50_ms: rounded(alone.figures.p50_ms), p99_ms: rounded(alone.figures.p99_ms) },
    beside: { p50_ms: rounded(beside.figures.p50_ms), p99_ms: rounded(beside.figures.p99_ms) },
    job_rows_per_s: rounded(rate),
  };
}

function jobTable(jobs: readonly JobFigures[]): string {
  const cpu = (name: string) => (job: JobFigures) => (job.cpu_ms_per_1000[name] ?? 0).toFixed(1);
  const columns: Columns<JobFigures> = [
    ['rows', ({ rows }) => wholeNumber(rows), 'right'],
    ['rows/s', (job) => wholeNumber(job.rows_per_s)],
    ['upload s', (job) => job.upload_s.toFixed(1)],
    ['reading s', (job) => job.reading_s.toFixed(1)],
    ['scoring s', (job) => job.scoring_s.toFixed(1)],
    ['download s', (job) => job.download_s.toFixed(1)],
    ...['gateway', 'runner', 'workers', 'redis', 'mongod', 'total'].map((name) => [name, cpu(name)] as const),
    ['gateway MB', (job) => wholeNumber(job.max_rss_mb.gateway)],
    ['runner MB', (job) => wholeNumber(job.max_rss_mb.runner)],
    ['others', (job) => job.others_cores.toFixed(2)],
    ['goal', ({ rows_per_s: rate }) => reachedText(rate >= goalRowsPerS)],
  ];
  return `Bulk jobs: CPU-ms per 1000 rows by part (goal: at least ${wholeNumber(goalRowsPerS)} rows/s)\n${reportTable(columns, jobs)}`;
}

const singlesText = ({ alone, beside, job_rows_per_s: rate }: SinglesFigures): string =>
  `${singlesPerSecond} single calls a second: p50 ${alone.p50_ms.toFixed(1)} ms, p99 ${alone.p99_ms.toFixed(1)} ms; ` +
  `beside a job of ${wholeNumber(rate)} rows/s p50 ${beside.p50_ms.toFixed(1)} ms, p99 ${beside.p99_ms.toFixed(1)} ms ` +
  `(${(beside.p99_ms / alone.p99_ms).toFixed(2)} times)`;
