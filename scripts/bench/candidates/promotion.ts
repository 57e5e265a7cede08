import { setTimeout as pause } from 'node:timers/promises';
import { stoppedAtEnd } from '../../servers/run-to-end.js';
import { checkReply, compareWithFloor } from '../load/check-replies.js';
import { FloorScorer } from '../load/floor-scorer.js';
import { HttpConnection } from '../load/http-connection.js';
import type { LoadReport } from '../load/messages.js';
import { RequestBodies } from '../load/request-bodies.js';
import { rounded } from '../report/figures.js';
import { spreadOf } from '../report/percentile.js';
import {
  type Columns,
  type ReportSection,
  reachedText,
  reportTable,
  type SectionOptions,
  withRange,
} from '../report/tables.js';
import { type BenchService, startBenchService, startGenerator } from '../service/bench-service.js';
import { ModelVersions } from './model-versions.js';

export const promotionRowName = 'promotion';

const callsPerSecond = 100;
/** A window of 500 calls: five of them are slower than its p99, and a change of the version reaches more calls. */
const windowMs = 5_000;
const warmUpMs = 500;
const roundsPerRepeat = 4;
/** p99 of a window with a change, divided by that of the window before it. */
const goal = 1.5;

const changes = ['promotion', 'rollback'] as const;
type Change = (typeof changes)[number];

/** Two neighbouring windows, under their names in `--json`. */
export interface ChangeFigures {
  readonly change: Change;
  readonly p50_ms: { readonly without: number; readonly with: number };
  readonly p99_ms: { readonly without: number; readonly with: number };
  readonly ratio: number;
  /** From the action to its end, as the person who promotes waits for it. */
  readonly action_ms: number;
}

/**
 * Measures single calls around promotions and rollbacks, on a service of its own. Each window with a change follows one
 * without. A promotion is that of a version which no process has loaded; the rollback is to the version before.
 * @throws Error if the service fails, a reply is wrong, or calls after a window have another version
 */
export async function promotionSection(_names: readonly string[], options: SectionOptions): Promise<ReportSection> {
  const { say, onEnd, firstWarmUpMs, repeats, isQuick, bundlePath } = options;
  say('promotion: starting Redis, MongoDB, a gateway and a worker pool');
  const service = await startBenchService(options, onEnd);
  const versions = new ModelVersions(service, service.source, onEnd);
  const rounds = isQuick ? 1 : repeats * roundsPerRepeat;
  for (let round = 1; round <= rounds; round += 1) await versions.store(versionOf(round));
  const generator = await stoppedAtEnd(onEnd, startGenerator(service));
  const scorer = await FloorScorer.load(bundlePath);
  const { gateway, groups } = service;
  const plan = { shape: 'single', leads: 'known', load: { callsPerSecond }, target: { gateway, groups } } as const;
  const window = async (warmMs = warmUpMs): Promise<LoadReport> => {
    const report = await generator.call({ ...plan, warmUpMs: warmMs, windowMs });
    await compareWithFloor(report.samples, { scorer, database: service.database });
    return report;
  };
  const measure = async (): Promise<ChangeFigures[]> => {
    await window(firstWarmUpMs);
    const done: ChangeFigures[] = [];
    for (let round = 1; round <= rounds; round += 1)
      for (const change of changes) {
        if (change === 'promotion') await versions.propose(versionOf(round));
        const without = await window();
        const [during, actionMs] = await Promise.all([window(), changedInside(versions, change)]);
        await expectVersion(service, (await versions.read()).version);
        const figures = figuresOf(change, { without, during, actionMs });
        done.push(figures);
        say(`promotion: ${change} ${round} of ${rounds}, p99 ${figures.ratio.toFixed(2)} times`);
      }
    return done;
  };
  const failure = service.ended.then((how) => Promise.reject(new Error(how)));
  const windows = await Promise.race([measure(), failure]);
  return { document: { goal, calls_per_s: callsPerSecond, windows }, text: promotionText(windows) };
}

const versionOf = (round: number): string => `bench-${round}`;

/** Changes the version in the middle of a window that begins now. @returns the duration of the change, ms */
async function changedInside(versions: ModelVersions, change: Change): Promise<number> {
  await pause(warmUpMs + windowMs / 2);
  const startMs = performance.now();
  await (change === 'promotion' ? versions.promote() : versions.rollBack());
  return performance.now() - startMs;
}

/** @throws Error if a call is answered by another version */
async function expectVersion({ gateway, source }: BenchService, version: string): Promise<void> {
  const [body] = (await RequestBodies.from(source)).ofKnownLeads('single');
  const connection = await HttpConnection.open(gateway, { shape: 'single', caller: 0 });
  try {
    const reply = await connection.call(body as Buffer);
    checkReply(reply, { shape: 'single', records: 1 });
    const { model_version: found } = JSON.parse(reply.body.toString('utf8')) as { readonly model_version: string };
    if (found !== version) throw new Error(`a call was answered by version "${found}" after a change to "${version}"`);
  } finally {
    connection.close();
  }
}

function figuresOf(
  change: Change,
  {
    without,
    during,
    actionMs,
  }: { readonly without: LoadReport; readonly during: LoadReport; readonly actionMs: number },
): ChangeFigures {
  const both = (name: 'p50_ms' | 'p99_ms') => ({
    without: rounded(without.figures[name]),
    with: rounded(during.figures[name]),
  });
  const ratio = during.figures.p99_ms / without.figures.p99_ms;
  return {
    change,
    p50_ms: both('p50_ms'),
    p99_ms: both('p99_ms'),
    ratio: rounded(ratio),
    action_ms: rounded(actionMs),
  };
}

/** A line a kind of change. A window with an error has ended the run already. */
export function promotionText(windows: readonly ChangeFigures[]): string {
  const spread = (change: Change, figure: (figures: ChangeFigures) => number) =>
    spreadOf(windows.filter((each) => each.change === change).map(figure));
  const columns: Columns<Change> = [
    ['change', (change) => change],
    ['windows', (change) => String(windows.filter((each) => each.change === change).length)],
    ['p50 ms without', (change) => withRange(spread(change, ({ p50_ms: p50 }) => p50.without))],
    ['with', (change) => withRange(spread(change, ({ p50_ms: p50 }) => p50.with))],
    ['p99 ms without', (change) => withRange(spread(change, ({ p99_ms: p99 }) => p99.without))],
    ['with', (change) => withRange(spread(change, ({ p99_ms: p99 }) => p99.with))],
    ['p99 ratio', (change) => withRange(spread(change, ({ ratio }) => ratio))],
    ['action ms', (change) => withRange(spread(change, ({ action_ms: ms }) => ms))],
  ];
  const isReached = changes.every((change) => spread(change, ({ ratio }) => ratio).median <= goal);
  return [
    `${callsPerSecond} single calls a second with a change of the version in the middle of a window, and without: no error`,
    `Goal: a median p99 ratio of at most ${goal}, ${reachedText(isReached)}`,
    reportTable(columns, changes),
  ].join('\n');
}
