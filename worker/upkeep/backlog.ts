import { interactiveLanes, type Lane, lanes } from '../../shared/contract/lanes.js';
import { type Backlog, type Backlogs, writeBacklogs } from '../../shared/messages/backlog.js';
import { laneQueueName, messageVersion } from '../../shared/messages/score-job.js';
import { type Redis, redisNowMs } from '../../shared/redis/connect.js';
import { backlogKey, heldKey, partitionPrefix } from '../../shared/redis/keys.js';
import { inOneWrite } from '../../shared/redis/lua-command.js';
import { WorkerRegister } from '../../shared/redis/worker-register.js';

/** The sums of a lane's queues. */
interface LaneState {
  readonly waiting: number;
  /** Chunks that wait or are being scored. */
  readonly unfinished: number;
  /** Chunks that gateways have sent since Redis began. */
  readonly sent: number;
  /** Age of the oldest chunk that waits in Redis, ms; 0 without one. */
  readonly oldestMs: number;
  /** The last long wait of a chunk in a gateway, ms. */
  readonly heldMs: number;
}

/** Fields of the hash with which the next measurement, maybe by another pool, computes the rates. */
const keptStates = ['waiting', 'unfinished', 'sent'] as const;

/**
 * Measures the backlogs of all lanes, and writes them. Gateways keep chunks beyond those that workers need, so the
 * waits in gateways count as well as the queues.
 * @param partitions `LANES` of this process; worker processes may know more
 * @throws the error of Redis
 */
export async function measureBacklogs(redis: Redis, partitions: number): Promise<Backlogs> {
  const [before, nowMs] = await Promise.all([redis.hgetall(backlogKey), redisNowMs(redis)]);
  const elapsedMs = nowMs - Number(before.measured_at_ms ?? nowMs);
  const kept: Record<string, number> = { measured_at_ms: nowMs };
  const measure = async (lane: Lane): Promise<[Lane, Backlog]> => {
    const state = await laneState(redis, { lane, partitions, nowMs });
    const last = (name: (typeof keptStates)[number]): number => Number(before[`${lane}_${name}`] ?? Number.NaN);
    for (const name of keptStates) kept[`${lane}_${name}`] = state[name];
    const finished = state.sent - last('sent') - (state.unfinished - last('unfinished'));
    // A lane that had nothing to do for a while works at less than its rate.
    const wasBusy = state.waiting > 0 && last('waiting') > 0;
    return [lane, backlogOf(state, wasBusy && elapsedMs > 0 ? finished / elapsedMs : 0)];
  };
  const backlogs = Object.fromEntries(await Promise.all(lanes.map(measure))) as Backlogs;
  await writeBacklogs(redis, backlogs, kept);
  return backlogs;
}

/** @param perMs chunks that the lane finishes in a ms; not above 0 when that is unknown */
function backlogOf({ waiting, oldestMs, heldMs }: LaneState, perMs: number): Backlog {
  const inQueueMs = perMs > 0 ? waiting / perMs : oldestMs;
  return { backlogSeconds: (heldMs + inQueueMs) / 1000, oldestChunkSeconds: Math.max(heldMs, oldestMs) / 1000 };
}

async function laneState(
  redis: Redis,
  { lane, partitions, nowMs }: { readonly lane: Lane; readonly partitions: number; readonly nowMs: number },
): Promise<LaneState> {
  const registered = await new WorkerRegister(redis, lane).listAll();
  const known = [...registered.values()].flat().map((worker) => worker.partitions);
  // Gateways of a release whose last pool has stopped may still send chunks.
  const versions = new Set([messageVersion - 1, messageVersion, messageVersion + 1, ...registered.keys()]);
  const prefixes = Array.from({ length: Math.max(partitions, ...known) }, (_, partition) => partitionPrefix(partition));
  const queues = [...versions].flatMap((version) =>
    prefixes.map((prefix) => `${prefix}:${laneQueueName(lane, version)}`),
  );
  inOneWrite(redis);
  const [states, heldMs] = await Promise.all([
    Promise.all(queues.map((queue) => queueState(redis, queue, nowMs))),
    heldMsOf(redis, lane),
  ]);
  const sumOf = (name: (typeof keptStates)[number]) => states.reduce((sum, state) => sum + state[name], 0);
  return {
    waiting: sumOf('waiting'),
    unfinished: sumOf('unfinished'),
    sent: sumOf('sent'),
    oldestMs: Math.max(...states.map(({ oldestMs }) => oldestMs)),
    heldMs,
  };
}

/** @param queue prefix of the keys of a BullMQ queue */
async function queueState(redis: Redis, queue: string, nowMs: number): Promise<Omit<LaneState, 'heldMs'>> {
  const [waiting, active, sent, oldest] = await Promise.all([
    redis.llen(`${queue}:wait`),
    redis.llen(`${queue}:active`),
    redis.get(`${queue}:id`),
    // BullMQ takes jobs from the end of the list.
    redis.lindex(`${queue}:wait`, -1),
  ]);
  // A worker may have taken and finished the job meanwhile.
  const sentMs = oldest === null ? null : await redis.hget(`${queue}:${oldest}`, 'timestamp');
  return {
    waiting,
    unfinished: waiting + active,
    sent: Number(sent ?? 0),
    oldestMs: Math.max(0, nowMs - Number(sentMs ?? nowMs)),
  };
}

async function heldMsOf(redis: Redis, lane: Lane): Promise<number> {
  const interactive = interactiveLanes.find((each) => each === lane);
  return interactive === undefined ? 0 : Number((await redis.get(heldKey(interactive))) ?? 0);
}
