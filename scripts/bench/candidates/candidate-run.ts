import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type CandidateRun, CandidateRunStore } from '../../../shared/store/models/candidate-runs.js';
import { temporaryDirectory } from '../../servers/run-to-end.js';
import { groupsOf, measureJob, quickRows } from '../bulk/bulk.js';
import { maxLeads, writeBulkFile } from '../bulk/bulk-file.js';
import { BulkCaller } from '../bulk/bulk-job.js';
import { rounded } from '../report/figures.js';
import { spreadOf } from '../report/percentile.js';
import {
  type Columns,
  type ReportSection,
  reachedText,
  reportTable,
  type SectionOptions,
  wholeNumber,
} from '../report/tables.js';
import { startBenchService } from '../service/bench-service.js';
import { ModelVersions } from './model-versions.js';

export const candidateRowName = 'candidate';

const candidate = 'bench-candidate';
/** Scores like the version that scored the leads, so a run against it scores each row by two versions. */
const later = 'bench-later';
/** A run takes no call that may still be voided: three leases and 30 s. Another 10 s let the clocks differ. */
const finalAfterMs = 130_000;
const pollMs = 100;
/** A run begins within seconds, and its comparison follows its end. */
const maxWaitMs = 15 * 60_000;
/** Rows a second of a run, divided by those of the job before it. */
const goal = 0.9;

/** Two runs and the job before them, in rows a second, under their names in `--json`. */
export interface RunFigures {
  readonly job: number;
  /** Without the upload and the reading of the file. */
  readonly job_scoring: number;
  /** Scored by the candidate alone. */
  readonly run: number;
  /** Scored by the candidate and by the current version. A row counts as two. */
  readonly run_of_two: number;
}

/**
 * Measures runs of a candidate in turns with bulk jobs of another organisation, on a service of its own. Both have
 * scored the same file before. A run's time includes that of counting its leads.
 * @throws Error if the service fails, results are wrong, or a run does not score each lead
 */
export async function candidateSection(_names: readonly string[], options: SectionOptions): Promise<ReportSection> {
  const { say, onEnd, isQuick, repeats } = options;
  const rows = Math.min(isQuick ? quickRows : maxLeads, options.rows);
  const path = join(await temporaryDirectory(onEnd, 'candidate'), 'leads.csv');
  await writeBulkFile(path, rows);
  say('candidate: starting Redis, MongoDB, a gateway, a worker pool and a runner');
  const service = await startBenchService({ ...options, withRunner: true }, onEnd);
  const versions = new ModelVersions(service, service.source, onEnd);
  const { version: first } = await versions.read();
  for (const version of [candidate, later]) await versions.store(version);
  const jobs = new BulkCaller(service.second.gateway, service.second.source.modelId);
  const measure = async (): Promise<RunFigures[]> => {
    say(`candidate: first jobs of ${wholeNumber(rows)} leads in both organisations`);
    await new BulkCaller(service.gateway, service.source.modelId).run(path);
    await jobs.run(path);
    say(`candidate: waiting ${finalAfterMs / 1_000} s until no call can be voided`);
    await pause(finalAfterMs);
    const runs = new CandidateRuns(versions, new CandidateRunStore(service.database), service.source.modelId);
    const done: RunFigures[] = [];
    for (let repeat = 0; repeat < repeats; repeat += 1) {
      const job = await measureJob(groupsOf(service), jobs, { path, rows });
      const run = await runs.measure(rows);
      await versions.serve(later);
      const ofTwo = await runs.measure(rows);
      await versions.serve(first);
      const [jobRate, scoringRate] = [job.rows_per_s, job.scoring_rows_per_s];
      done.push({ job: jobRate, job_scoring: scoringRate, run, run_of_two: rounded(2 * ofTwo) });
      say(`candidate: job ${wholeNumber(jobRate)} rows/s, run ${wholeNumber(run)}, of two ${wholeNumber(2 * ofTwo)}`);
    }
    return done;
  };
  const failure = service.ended.then((how) => Promise.reject(new Error(how)));
  const measured = await Promise.race([measure(), failure]);
  return { document: { goal, rows, repeats: measured }, text: runsText(rows, measured) };
}

class CandidateRuns {
  constructor(
    private readonly versions: ModelVersions,
    private readonly runs: CandidateRunStore,
    private readonly modelId: string,
  ) {}

  /**
   * Makes a version the candidate, waits for its run and its comparison, and removes its scores.
   * @returns leads a second
   */
  async measure(leads: number): Promise<number> {
    await this.versions.propose(candidate);
    const { version: base, candidate: proposed } = await this.versions.read();
    const isCompared = (run: CandidateRun) =>
      run.base === base && Number(run.since) === Number(proposed?.since) && run.comparison !== undefined;
    const run = await this.until(isCompared);
    if (run.rows !== leads) throw new Error(`the run scored ${run.rows} leads instead of ${leads}`);
    await this.versions.drop();
    await this.until(({ state }) => state === 'dropped');
    // Their removal would take part of the next measurement.
    await pause(10_000);
    return rounded((1_000 * leads) / (Number(run.ended_at) - Number(run.started_at)));
  }

  /** @throws Error for a run that fails, or after a long time */
  private async until(isIt: (run: CandidateRun) => boolean): Promise<CandidateRun> {
    const endMs = performance.now() + maxWaitMs;
    for (;;) {
      const run = await this.runs.find(this.modelId, candidate);
      if (run !== undefined && isIt(run)) return run;
      if (run?.state === 'failed') throw new Error(`the run failed: ${run.message}`);
      if (performance.now() > endMs) throw new Error(`the run is still ${run?.state ?? 'waiting'}`);
      await pause(pollMs);
    }
  }
}

/** A line a repeat, and the goal with the medians of the ratios. */
export function runsText(rows: number, repeats: readonly RunFigures[]): string {
  const columns: Columns<RunFigures> = [
    ['job', ({ job }) => wholeNumber(job), 'right'],
    ['job without reading', (figures) => wholeNumber(figures.job_scoring)],
    ['run', ({ run }) => wholeNumber(run)],
    ['run / job', ({ run, job }) => (run / job).toFixed(2)],
    ['run of two versions', (figures) => wholeNumber(figures.run_of_two)],
    ['/ job', (figures) => (figures.run_of_two / figures.job).toFixed(2)],
  ];
  const ratios = [
    spreadOf(repeats.map(({ run, job }) => run / job)).median,
    spreadOf(repeats.map((each) => each.run_of_two / each.job)).median,
  ];
  return [
    `Runs of a candidate over ${wholeNumber(rows)} leads, and bulk jobs: rows a second`,
    `Goal: median ratios of at least ${goal}, ${reachedText(ratios.every((ratio) => ratio >= goal))}`,
    reportTable(columns, repeats),
  ].join('\n');
}
