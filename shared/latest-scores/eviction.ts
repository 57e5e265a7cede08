import { mastersOf } from '../redis/cluster.js';
import type { Redis } from '../redis/connect.js';
import { factOf } from '../redis/info.js';
import { anyLatestScoresKey, type UsageCounter } from '../redis/keys.js';
import { integerReply, luaCommand } from '../redis/lua-command.js';
import type { UsageLedger } from '../store/calls/usage-ledger.js';
import type { LatestScores } from './latest-scores.js';

const atOnce = 1_000;

/**
 * Drops the newest scores that are older than predictions are kept, and leads of which Redis only knows that a model has not
 * scored them: of those it does not know since when. MongoDB is asked of them when they come again.
 * @param beforeId of predictions that are all older than any call under way
 * @returns how many were dropped
 * @throws what Redis fails with; can be run again
 */
export async function expireOldScores(redis: Redis, beforeId: string): Promise<number> {
  const expireOld = luaCommand(redis, { file: 'shared/latest-scores/expire-old.lua', reply: integerReply });
  let dropped = 0;
  for (const master of mastersOf(redis))
    for await (const key of keysOn(master))
      for (let cursor = '0'; ; ) {
        const [next, cells] = await redis.hscan(key, cursor, 'COUNT', atOnce);
        const leads = oldLeads(cells, beforeId);
        // Some of them may have been scored since: it is looked at again where nothing comes between.
        for (let first = 0; first < leads.length; first += atOnce)
          dropped += await expireOld({
            keys: [key],
            args: [beforeId, ...leads.slice(first, first + atOnce)],
          });
        if (next === '0') break;
        cursor = next;
      }
  return dropped;
}

async function* keysOn(master: Redis): AsyncGenerator<string> {
  for (let cursor = '0'; ; ) {
    const [next, keys] = await master.scan(cursor, 'MATCH', anyLatestScoresKey, 'COUNT', atOnce);
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

/** Of the memory that Redis may use, the share from which on newest scores give way: without room, no call is taken. */
const fullShare = 0.8;
const keysAtOnce = 1_000;

/**
 * Gives up all newest scores of each server that is short of memory: they can be had from MongoDB, the rest cannot.
 * @returns how many models' scores were given up
 * @throws what Redis fails with
 */
export async function evictUnderPressure(redis: Redis): Promise<number> {
  const dropped = await Promise.all(mastersOf(redis).map(evictOn));
  return dropped.reduce((sum, count) => sum + count, 0);
}

async function evictOn(master: Redis): Promise<number> {
  const memory = await master.info('memory');
  const figureOf = (name: string) => Number(factOf(memory, name) ?? 0);
  const most = figureOf('maxmemory');
  if (most === 0 || figureOf('used_memory') < fullShare * most) return 0;
  let dropped = 0;
  for (let cursor = '0'; ; ) {
    const [next, keys] = await master.scan(cursor, 'MATCH', anyLatestScoresKey, 'COUNT', keysAtOnce);
    // One by one: keys of several organisations are in several slots.
    await Promise.all(keys.map((key) => master.unlink(key)));
    dropped += keys.length;
    if (next === '0') return dropped;
    cursor = next;
  }
}

/**
 * For whoever settles calls of gateways that are gone, and does not know what they scored: gives up the newest scores of
 * their models before.
 */
export const invalidateSettled =
  (deps: { readonly ledger: UsageLedger; readonly latest: LatestScores }) =>
  async ({ organisationId, bucket }: UsageCounter, callIds: readonly string[]): Promise<void> => {
    if (bucket === 'live') await deps.latest.forget(organisationId, await deps.ledger.modelsOf(callIds));
  };
