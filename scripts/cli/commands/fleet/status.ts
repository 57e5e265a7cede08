import type { Command } from 'commander';
import { lanes } from '../../../../shared/contract/lanes.js';
import type { Backlogs } from '../../../../shared/messages/backlog.js';
import type { SweepRecord } from '../../../../shared/quota/sweep-log.js';
import type { NotedProcess } from '../../../../shared/redis/process-register.js';
import { processNames } from '../../../../shared/redis/running-processes.js';
import { type CliContext, type CommandResult, lineWidth } from '../../context/cli-context.js';
import { countText, readableDuration } from '../../output/readable-numbers.js';
import { tableOf } from '../../output/table.js';
import { defineCommand, type JsonOption } from '../define-command.js';

/** Adds `status`. */
export function addStatusCommand(program: Command, context: CliContext): void {
  defineCommand(program, {
    usage: 'status',
    description: 'Show the running processes, the workers of each lane, and the last sweeps',
    examples: ['status'],
    notes:
      'Each process notes itself every ten seconds. One that was killed is shown for up to 35 s.\nFor mistakes in an installation, see: npx leadscore doctor',
  }).action((options: JsonOption) => context.present(options, status(context)));
}

const sweepsShown = 3;

async function status(context: CliContext): Promise<CommandResult> {
  const [{ ProcessRegister }, { latestSweeps, sweepDocument }, { readBacklogs }] = await Promise.all([
    import('../../../../shared/redis/process-register.js'),
    import('../../../../shared/quota/sweep-log.js'),
    import('../../../../shared/messages/backlog.js'),
  ]);
  const redis = await context.connections.redis();
  const [processes, latest, backlogs] = await Promise.all([
    new ProcessRegister(redis).list(),
    latestSweeps(redis),
    readBacklogs(redis),
  ]);
  const ofLanes = lanesOf(processes, backlogs);
  const sweeps = latest.slice(0, sweepsShown);
  const width = lineWidth(context.stdout);
  return {
    document: {
      processes: processes.map(documentOf),
      lanes: ofLanes,
      sweeps: sweeps.map(sweepDocument),
    },
    text: [processTable(processes, width), laneTable(ofLanes), sweepTable(sweeps, context.clock.now())].join('\n\n'),
  };
}

const documentOf = ({ kind, host, pid, release, upMs, notedMsAgo, clockAheadMs, settings }: NotedProcess) => ({
  ...{ kind: processNames[kind][0], host, pid, release, up_ms: upMs + notedMsAgo, noted_ms_ago: notedMsAgo },
  ...{ clock_ahead_ms: clockAheadMs, lanes: Number(settings.LANES) },
});

const processTable = (processes: readonly NotedProcess[], width: number): string =>
  tableOf(
    processes,
    [
      ['Process', ({ kind }) => processNames[kind][0]],
      ['Machine', ({ host }) => host],
      ['PID', ({ pid }) => String(pid), 'right'],
      ['Release', ({ release }) => release],
      ['Up', ({ upMs, notedMsAgo }) => readableDuration(upMs + notedMsAgo), 'right'],
      ['Noted', ({ notedMsAgo }) => `${readableDuration(notedMsAgo)} ago`, 'right'],
    ],
    { width, none: 'No process is running on this Redis.' },
  );

/** The worker processes of each lane, summed over all pools, and its backlog. */
function lanesOf(processes: readonly NotedProcess[], backlogs: Backlogs | undefined) {
  const partitions = [...new Set(processes.map(({ settings }) => Number(settings.LANES)))].sort((a, b) => a - b);
  return lanes.map((lane) => {
    const counts = processes.flatMap(({ workers }) => (workers === undefined ? [] : [workers[lane]]));
    const sumOf = (state: 'wanted' | 'ready') => counts.reduce((sum, each) => sum + each[state], 0);
    return {
      ...{ lane, partitions, workers_ready: sumOf('ready'), workers_wanted: sumOf('wanted') },
      backlog_seconds: backlogs?.[lane].backlogSeconds ?? null,
      oldest_chunk_seconds: backlogs?.[lane].oldestChunkSeconds ?? null,
    };
  });
}

const laneTable = (ofLanes: ReturnType<typeof lanesOf>): string =>
  tableOf(ofLanes, [
    ['Lane', ({ lane }) => lane],
    // More than one number is a mistake, which `doctor` explains.
    ['Partitions', ({ partitions }) => partitions.join(' or ') || '–', 'right'],
    ['Workers ready', ({ workers_ready: ready }) => countText(ready), 'right'],
    ['wanted', ({ workers_wanted: wanted }) => countText(wanted), 'right'],
    ['Backlog', ({ backlog_seconds: backlog }) => secondsText(backlog), 'right'],
    ['Oldest chunk', ({ oldest_chunk_seconds: oldest }) => secondsText(oldest), 'right'],
  ]);

/** A dash where no pool has measured within 30 s. */
const secondsText = (seconds: number | null): string => (seconds === null ? '–' : readableDuration(1_000 * seconds));

const sweepTable = (sweeps: readonly SweepRecord[], nowMs: number): string =>
  tableOf(
    sweeps,
    [
      ['Sweep', ({ atMs }) => `${readableDuration(Math.max(0, nowMs - atMs))} ago`],
      ['Took', ({ tookMs }) => readableDuration(Math.max(0, tookMs)), 'right'],
      ['Settled', ({ settled }) => countText(settled), 'right'],
      ['Released', ({ released }) => countText(released), 'right'],
      ['Recounted', ({ recounted }) => countText(recounted), 'right'],
      ['Failed', ({ failed }) => countText(failed), 'right'],
    ],
    { none: 'No pool has swept yet.' },
  );
