import { setTimeout as pause } from 'node:timers/promises';
import { type ProcessGroups, readUsage } from '../../servers/process-usage.js';
import { rounded } from '../report/figures.js';
import {
  type Columns,
  type ReportSection,
  reachedText,
  reportTable,
  type SectionOptions,
  short,
} from '../report/tables.js';
import { startBenchService } from './bench-service.js';

export const idleRowName = 'idle';

/** Whole minutes: some work is done once a minute. */
const windowMs = 60_000;
const quickWindowMs = 15_000;
/** V8 compiles the code of the timers, and connections of the start are closed. */
const settleMs = 30_000;
/** For all processes together. */
const goalMsPerS = 35;

/** CPU-ms a second of each part, and of `all`. */
export type IdleFigures = Readonly<Record<string, number>>;

/**
 * Measures the service that `npm start` runs, without calls: Redis, mongod, a gateway, a pool, a runner and a console.
 * @throws Error if the service fails
 */
export async function idleSection(_names: readonly string[], options: SectionOptions): Promise<ReportSection> {
  const { say, onEnd, isQuick, repeats } = options;
  say('idle: starting Redis, MongoDB, a gateway, a worker pool, a runner and a console');
  const { groups, ended } = await startBenchService({ ...options, withRunner: true, withConsole: true }, onEnd);
  await pause(settleMs);
  const windows: IdleFigures[] = [];
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const measuring = measureIdle(groups, isQuick ? quickWindowMs : windowMs);
    const figures = await Promise.race([measuring, ended.then((how) => Promise.reject(new Error(how)))]);
    windows.push(figures);
    say(`idle: ${short(figures.all ?? 0)} CPU-ms a second`);
  }
  return { document: { goal: goalMsPerS, windows }, text: tableOf(windows) };
}

/**
 * @returns CPU time in the next `durationMs`, divided by it
 * @throws Error if a process ends meanwhile
 */
export async function measureIdle(groups: ProcessGroups, durationMs: number): Promise<IdleFigures> {
  const [before, startMs] = [readUsage(groups), performance.now()];
  await pause(durationMs);
  const [after, elapsedS] = [readUsage(groups), (performance.now() - startMs) / 1_000];
  const parts = Object.keys(groups).map((name) => {
    const usedMs = (after[name]?.cpuMs ?? 0) - (before[name]?.cpuMs ?? 0);
    return [name, rounded(usedMs / elapsedS)] as const;
  });
  return { ...Object.fromEntries(parts), all: rounded(parts.reduce((sum, [, ms]) => sum + ms, 0)) };
}

function tableOf(windows: readonly IdleFigures[]): string {
  const names = Object.keys(windows[0] ?? {});
  const columns: Columns<IdleFigures> = names.map((name) => [name, (figures) => short(figures[name] ?? 0), 'right']);
  const reached = reachedText(windows.every(({ all = 0 }) => all <= goalMsPerS));
  return `Idle: CPU-ms a second by part (goal for all: at most ${goalMsPerS}, ${reached})\n${reportTable(columns, windows)}`;
}
