import { integerReply, luaCommand } from '../lua-command.js';
import type { Redis } from '../redis.js';
import { mastersOf } from '../redis-cluster.js';
import { anyNewestScoresKey } from '../redis-keys.js';

const atOnce = 1_000;

/**
 * Drops the newest scores that are older than predictions are kept, and leads of which Redis only knows that a model has not
 * scored them: of those it does not know since when. MongoDB is asked of them when they come again.
 * @param beforeId of predictions that are all older than any call under way
 * @returns how many were dropped
 * @throws what Redis fails with; can be run again
 */
export async function dropOldScores(redis: Redis, beforeId: string): Promise<number> {
  const dropOld = luaCommand(redis, { file: 'shared/newest-scores/drop-old.lua', reply: integerReply });
  let dropped = 0;
  for (const master of mastersOf(redis))
    for await (const key of keysOn(master))
      for (let cursor = '0'; ; ) {
        const [next, cells] = await redis.hscan(key, cursor, 'COUNT', atOnce);
        const leads = oldLeads(cells, beforeId);
        // Some of them may have been scored since: it is looked at again where nothing comes between.
        for (let first = 0; first < leads.length; first += atOnce)
          dropped += await dropOld({ keys: [key], args: [beforeId, ...leads.slice(first, first + atOnce)] });
        if (next === '0') break;
        cursor = next;
      }
  return dropped;
}

async function* keysOn(master: Redis): AsyncGenerator<string> {
  for (let cursor = '0'; ; ) {
    const [next, keys] = await master.scan(cursor, 'MATCH', anyNewestScoresKey, 'COUNT', atOnce);
    yield* keys;
    if (next === '0') return;
    cursor = next;
  }
}

/** The leads among the cells of a hash, name and entry by turns, whose entry is older; not the hash's own cell. */
function oldLeads(cells: readonly string[], beforeId: string): string[] {
  const leads: string[] = [];
  for (let place = 0; place < cells.length; place += 2) {
    const [crmId = '', entry = ''] = cells.slice(place, place + 2);
    if (crmId !== '' && entry < beforeId) leads.push(crmId);
  }
  return leads;
}
