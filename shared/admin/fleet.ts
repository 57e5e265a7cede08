import { Queue } from 'bullmq';
import { type Lane, lanes } from '../contract/lanes.js';
import { readBacklogs } from '../messages/backlog.js';
import { bundleCheckQueueName } from '../messages/bundle-check-job.js';
import { deathsOf } from '../messages/deaths.js';
import { gradingQueueName } from '../messages/grading-job.js';
import { laneQueueName, messageVersion } from '../messages/score-job.js';
import { latestSweeps, sweepDocument } from '../quota/sweep-log.js';
import { factOf, mastersOf, type Redis } from '../redis/connect.js';
import {
  callsToVoidKey,
  modelStrikesKey,
  partitionPrefix,
  queuePrefix,
  sweepTurnKey,
  upkeepQueueName,
} from '../redis/keys.js';
import { runningProcesses } from '../redis/running-processes.js';
import { WorkerRegister } from '../redis/worker-register.js';
import { defineAction } from './action.js';
import { nothing } from './schemas/members.js';
import { fleetOutput } from './schemas/usage.js';

/** Shows queues, pools and quarantined versions to the operator. */
export const showFleet = defineAction({
  name: 'fleet.show',
  description:
    'Read the lanes with their jobs, workers and backlogs, running processes, quarantined versions, the latest sweeps, and the state of both databases.',
  role: 'operator',
  effect: 'read',
  input: nothing,
  output: fleetOutput,
  async run({ database, clock, redis }) {
    const connection = await redis();
    const registered = (await Promise.all(lanes.map((lane) => registeredIn(connection, lane)))).flat();
    const known = registered.flatMap(({ workers }) => workers.map((worker) => worker.partitions));
    const partitions = [...Array(Math.max(1, ...known)).keys()];
    const prefixes = partitions.map(partitionPrefix);
    const backlogs = await readBacklogs(connection);
    const scoring = registered.map(async ({ lane, version, workers }) => {
      const counts = await jobCounts(connection, laneQueueName(lane, version), prefixes);
      const measured = version === messageVersion ? backlogs?.[lane] : undefined;
      const behind = measured && {
        ...{ backlog_seconds: measured.backlogSeconds, oldest_chunk_seconds: measured.oldestChunkSeconds },
      };
      return { lane, message_version: version, ...counts, workers: workers.length, ...(behind ?? notMeasured) };
    });
    const [shown, strikes, isSwept, sweeps, voids, processes, info, build] = await Promise.all([
      Promise.all([...scoring, ...otherQueues.map((each) => otherLane(connection, each))]),
      connection.hgetall(modelStrikesKey),
      connection.exists(sweepTurnKey),
      latestSweeps(connection),
      connection.hlen(callsToVoidKey),
      // A Redis user may lack the right to it.
      runningProcesses(connection).catch(() => null),
      Promise.all(mastersOf(connection).map((master) => master.info())),
      database.admin().command({ buildInfo: 1 }),
    ]);
    const deaths = Object.entries(strikes).map(([version, text]) => deathsOf(version, text));
    const sumOf = (fact: string) => info.reduce((sum, text) => sum + Number(factOf(text, fact) ?? 0), 0);
    return {
      lanes: shown,
      quarantine: deaths
        .filter(({ untilMs }) => untilMs > clock.now())
        .map(({ untilMs, of }) => ({ ...of, until: new Date(untilMs).toISOString() })),
      strikes: deaths.map(({ of, count, lastMs }) => ({
        ...of,
        deaths: count,
        last_at: new Date(lastMs).toISOString(),
      })),
      sweep_is_running: isSwept === 1,
      sweeps: sweeps.map(sweepDocument),
      calls_to_void: voids,
      processes: processes && {
        ...{ gateways: processes.gateway, pools: processes.pool },
        ...{ bulk_runners: processes.bulk, consoles: processes.console },
      },
      redis: {
        used_bytes: sumOf('used_memory'),
        max_bytes: sumOf('maxmemory') || null,
        version: factOf(info[0] ?? '', 'redis_version') ?? 'unknown',
      },
      mongodb: { version: String(build.version) },
    };
  },
});

const notMeasured = { backlog_seconds: null, oldest_chunk_seconds: null };

const otherQueues = [
  { lane: 'grading', queue: gradingQueueName },
  { lane: 'upkeep', queue: upkeepQueueName },
  { lane: bundleCheckQueueName, queue: bundleCheckQueueName },
];

/** The worker processes of a lane by message version: this release's first, then others that run beside it. */
async function registeredIn(redis: Redis, lane: Lane) {
  const found = await new WorkerRegister(redis, lane).listAll();
  const versions = [...new Set([messageVersion, ...found.keys()])];
  return versions.map((version) => ({ lane, version, workers: found.get(version) ?? [] }));
}

async function otherLane(redis: Redis, { lane, queue: name }: (typeof otherQueues)[number]) {
  const queue = new Queue(name, { connection: redis, prefix: queuePrefix, skipMetasUpdate: true });
  try {
    // BullMQ counts the workers of all databases of a server.
    const database = String(redis.options.db ?? 0);
    const workers = (await queue.getWorkers()).filter(({ db }) => db === database).length;
    const counts = await jobCounts(redis, name, [queuePrefix]);
    return { lane, message_version: null, ...counts, workers, ...notMeasured };
  } finally {
    await queue.close();
  }
}

/** The jobs of a queue, in all its partitions. */
async function jobCounts(redis: Redis, name: string, prefixes: readonly string[]) {
  const sums = { waiting: 0, active: 0, delayed: 0, failed: 0 };
  const count = async (prefix: string): Promise<void> => {
    const queue = new Queue(name, { connection: redis, prefix, skipMetasUpdate: true });
    try {
      const counts = await queue.getJobCounts('waiting', 'active', 'delayed', 'failed');
      for (const state of ['waiting', 'active', 'delayed', 'failed'] as const) sums[state] += counts[state] ?? 0;
    } finally {
      await queue.close();
    }
  };
  await Promise.all(prefixes.map(count));
  return sums;
}
