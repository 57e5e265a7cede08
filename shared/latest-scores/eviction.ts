import { mastersOf, type Redis } from '../redis/connect.js';
import { factOf } from '../redis/info.js';
import { anyLatestScoresKey, type UsageCounter } from '../redis/keys.js';
import { integerReply, luaCommand } from '../redis/lua-command.js';
import type { UsageLedger } from '../store/calls/usage-ledger.js';
import type { LatestScores } from './latest-scores.js';

/** Keys of one SCAN, and entries of one HSCAN or script. */
const batchSize = 1_000;

/**
 * Drops latest scores that are older than the retention of predictions. Also drops entries that say that a model has
 * not scored a lead: they have no date. MongoDB is asked about these leads when they return.
 * @param beforeId of predictions that are all older than any call in flight
 * @returns the number of dropped entries
 * @throws the error of Redis; safe to repeat
 */
export async function expireOldScores(redis: Redis, beforeId: string): Promise<number> {
  const expireOld = luaCommand(redis, { file: 'shared/latest-scores/expire-old.lua', reply: integerReply });
  let dropped = 0;
  for (const master of mastersOf(redis))
    for await (const keys of keysOn(master))
      for (const key of keys)
        for (let cursor = '0'; ; ) {
          const [next, cells] = await redis.hscan(key, cursor, 'COUNT', batchSize);
          const leads = oldLeads(cells, beforeId);
          // A lead may have been scored since the HSCAN: the script checks again.
          for (let first = 0; first < leads.length; first += batchSize)
            dropped += await expireOld({
              keys: [key],
              args: [beforeId, ...leads.slice(first, first + batchSize)],
            });
          if (next === '0') break;
          cursor = next;
        }
  return dropped;
}

async function* keysOn(master: Redis): AsyncGenerator<readonly string[]> {
  for (let cursor = '0'; ; ) {
    const [next, keys] = await master.scan(cursor, 'MATCH', anyLatestScoresKey, 'COUNT', batchSize);
    yield keys;
    if (next === '0') return;
    cursor = next;
  }
}

/** The leads with an older entry, among names and entries in turn; not the epoch, whose name is empty. */
function oldLeads(cells: readonly string[], beforeId: string): string[] {
  const leads: string[] = [];
  for (let place = 0; place < cells.length; place += 2) {
    const [crmId = '', entry = ''] = cells.slice(place, place + 2);
    if (crmId !== '' && entry < beforeId) leads.push(crmId);
  }
  return leads;
}

const maxMemoryShare = 0.8; // a full Redis refuses every call

/**
 * Evicts all latest scores from each server that uses more than 80 % of its memory limit: MongoDB has them too, unlike
 * counters and queues. A server that does not answer is left out.
 * @returns the number of models whose scores were evicted
 */
export async function evictUnderPressure(redis: Redis): Promise<number> {
  const evicted = await Promise.allSettled(mastersOf(redis).map(evictOn));
  return evicted.reduce((sum, outcome) => sum + (outcome.status === 'fulfilled' ? outcome.value : 0), 0);
}

async function evictOn(master: Redis): Promise<number> {
  const memory = await master.info('memory');
  const figureOf = (name: string) => Number(factOf(memory, name) ?? 0);
  const limit = figureOf('maxmemory');
  if (limit === 0 || figureOf('used_memory') < maxMemoryShare * limit) return 0;
  let evicted = 0;
  for await (const keys of keysOn(master)) {
    // One command a key: keys of several organisations are in several slots.
    await Promise.all(keys.map((key) => master.unlink(key)));
    evicted += keys.length;
  }
  return evicted;
}

/**
 * For the sweep, which settles calls of dead gateways without knowing their scores: drops the latest scores of the
 * calls' models first.
 */
export const invalidateSettled =
  (deps: { readonly ledger: UsageLedger; readonly latest: LatestScores }) =>
  async ({ organisationId, bucket }: UsageCounter, callIds: readonly string[]): Promise<void> => {
    if (bucket === 'live') await deps.latest.forget(organisationId, await deps.ledger.modelsOf(callIds));
  };
