import { mastersOf, type Redis } from './connect.js';

/** Keys of one SCAN. */
const batchSize = 1_000;

/**
 * The keys on one server that match a pattern, in batches. May name a key twice, and need not name one that was made
 * meanwhile. Takes a round trip for each thousand keys that the server has.
 * @throws the error of Redis
 */
export async function* keysOn(server: Redis, pattern: string): AsyncGenerator<readonly string[]> {
  for (let cursor = '0'; ; ) {
    const [next, keys] = await server.scan(cursor, 'MATCH', pattern, 'COUNT', batchSize);
    yield keys;
    if (next === '0') return;
    cursor = next;
  }
}

/** As `keysOn`, on each master in turn. */
export async function* allKeys(redis: Redis, pattern: string): AsyncGenerator<readonly string[]> {
  for (const master of mastersOf(redis)) yield* keysOn(master, pattern);
}
