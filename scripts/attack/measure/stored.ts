import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { monthOf } from '../../../shared/contract/dates.js';
import { lanes } from '../../../shared/contract/lanes.js';
import { laneQueueName } from '../../../shared/messages/score-job.js';
import { partitionPrefix } from '../../../shared/redis/keys.js';
import { keysOn } from '../../../shared/redis/scan.js';
import { UsageLedger } from '../../../shared/store/calls/usage-ledger.js';
import type { AttackService } from './attack-service.js';

/** Contents of Redis and MongoDB, and the records that were counted for one organisation. */
export interface Stored {
  /**
   * Bytes of the keys of Redis that last: those of calls in flight expire within two minutes. The victim's keys are
   * left out, because its cached leads are dropped and read again. So are the event streams of BullMQ, which trims
   * them.
   */
  readonly redisBytes: number;
  /** Bytes of all documents. */
  readonly mongoBytes: number;
  /** Counted records of live and test keys. */
  readonly counted: { readonly live: number; readonly test: number };
  readonly workerDeaths: number;
}

/** Two leases, for which the state of a settled call is kept. */
const lastingMs = 120_000;

export async function readStored(service: AttackService, organisationId: string): Promise<Stored> {
  const { redis, database, cluster, victim } = service;
  const ledger = new UsageLedger(database);
  const month = monthOf(Date.now());
  const [redisBytes, { dataSize }, live, test, log] = await Promise.all([
    lastingBytes(redis, victim.id),
    database.stats(),
    ledger.sum({ organisationId, bucket: 'live', month }),
    ledger.sum({ organisationId, bucket: 'test', month }),
    cluster.readLog(),
  ]);
  const workerDeaths = log.split('a worker died and is replaced').length - 1;
  return { redisBytes, mongoBytes: dataSize, counted: { live, test }, workerDeaths };
}

/** @param leftOut an organisation whose keys do not count */
async function lastingBytes(redis: Redis, leftOut: string): Promise<number> {
  let bytes = 0;
  for await (const found of keysOn(redis, '*')) {
    const keys = found.filter((key) => !key.startsWith(`{${leftOut}}`) && !key.endsWith(':events'));
    const sizes = redis.pipeline();
    for (const key of keys) sizes.pttl(key).memory('USAGE', key, 'SAMPLES', 0);
    const replies = ((await sizes.exec()) ?? []).map(([, reply]) => Number(reply ?? 0));
    for (let index = 0; index < replies.length; index += 2) {
      const [ttlMs = 0, size = 0] = replies.slice(index, index + 2);
      if (ttlMs === -1 || ttlMs > lastingMs) bytes += size;
    }
  }
  return bytes;
}

const pollMs = 50;
const sameJobPolls = 4;
const settleLimitMs = 15_000;

/**
 * Waits until no worker is busy with a chunk of an attack: until no chunk has been active for four polls. A hung worker
 * is killed meanwhile.
 */
export async function workersSettled({ redis }: AttackService): Promise<void> {
  const polls = new Map<string, number>();
  const endMs = performance.now() + settleLimitMs;
  for (let poll = 0; performance.now() < endMs; poll += 1) {
    const ids = (
      await Promise.all(lanes.map((lane) => redis.lrange(`${partitionPrefix(0)}:${laneQueueName(lane)}:active`, 0, -1)))
    ).flat();
    for (const id of polls.keys()) if (!ids.includes(id)) polls.delete(id);
    for (const id of ids) polls.set(id, (polls.get(id) ?? 0) + 1);
    if (poll >= sameJobPolls && [...polls.values()].every((count) => count < sameJobPolls)) return;
    await pause(pollMs);
  }
}

export interface GatewayState {
  /** Worst delay of the event loop since the last reading. */
  readonly loopDelayMs: number;
  readonly memoryBytes: number;
}

/** Reads the metrics of the gateway. Each reading begins another measurement of the event loop. */
export async function readGateway({ metricsUrl }: AttackService): Promise<GatewayState> {
  const text = await (await fetch(metricsUrl)).text();
  const metric = (name: string): number => {
    const line = text.split('\n').find((each) => each.startsWith(`${name} `));
    return Number(line?.slice(name.length) ?? Number.NaN);
  };
  return {
    loopDelayMs: 1_000 * metric('nodejs_eventloop_lag_max_seconds'),
    memoryBytes: metric('process_resident_memory_bytes'),
  };
}
