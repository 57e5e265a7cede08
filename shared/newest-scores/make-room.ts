import type { Redis } from '../redis.js';
import { mastersOf } from '../redis-cluster.js';
import { factOf } from '../redis-info.js';
import { anyNewestScoresKey } from '../redis-keys.js';

/** Of the memory that Redis may use, the share from which on newest scores give way: without room, no call is taken. */
const fullShare = 0.8;
const keysAtOnce = 1_000;

/**
 * Gives up all newest scores of each server that is short of memory: they can be had from MongoDB, the rest cannot.
 * @returns how many models' scores were given up
 * @throws what Redis fails with
 */
export async function makeRoom(redis: Redis): Promise<number> {
  const dropped = await Promise.all(mastersOf(redis).map(makeRoomOn));
  return dropped.reduce((sum, count) => sum + count, 0);
}

async function makeRoomOn(master: Redis): Promise<number> {
  const memory = await master.info('memory');
  const figureOf = (name: string) => Number(factOf(memory, name) ?? 0);
  const most = figureOf('maxmemory');
  if (most === 0 || figureOf('used_memory') < fullShare * most) return 0;
  let dropped = 0;
  for (let cursor = '0'; ; ) {
    const [next, keys] = await master.scan(cursor, 'MATCH', anyNewestScoresKey, 'COUNT', keysAtOnce);
    // One by one: keys of several organisations are in several slots.
    await Promise.all(keys.map((key) => master.unlink(key)));
    dropped += keys.length;
    if (next === '0') return dropped;
    cursor = next;
  }
}
