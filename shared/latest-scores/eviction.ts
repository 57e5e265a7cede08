import { factOf, mastersOf, type Redis } from '../redis/connect.js';
import { anyLatestScoresKey, organisationOfLatestScores, type UsageCounter } from '../redis/keys.js';
import { integerReply, luaCommand } from '../redis/lua-command.js';
import { allKeys, keysOn } from '../redis/scan.js';
import { itemLength, itemsLength, type LatestScores } from './latest-scores.js';

/** Entries of one HSCAN or script. */
const batchSize = 1_000;

/**
 * Drops latest scores that are older than the retention of predictions.
 * @param floorOf an id of an organisation; those below it are all older than any call in flight
 * @returns the number of leads that lost scores
 * @throws the error of Redis; safe to repeat
 */
export async function expireOldScores(redis: Redis, floorOf: (organisationId: string) => string): Promise<number> {
  const forgetBelow = luaCommand(redis, { file: 'shared/latest-scores/forget-leads.lua', reply: integerReply });
  let dropped = 0;
  for await (const keys of allKeys(redis, anyLatestScoresKey))
    for (const key of keys) {
      const beforeId = floorOf(organisationOfLatestScores(key));
      for (let cursor = '0'; ; ) {
        const [next, cells] = await redis.hscan(key, cursor, 'COUNT', batchSize);
        const leads = leadsBelow(beforeId, cells);
        // A lead may have been scored since the HSCAN: the script checks again.
        for (let first = 0; first < leads.length; first += batchSize)
          dropped += await forgetBelow({ keys: [key], args: [beforeId, '', ...leads.slice(first, first + batchSize)] });
        if (next === '0') break;
        cursor = next;
      }
    }
  return dropped;
}

/** The leads whose last item is below a limit, among the names and values of a hash in turn. */
function leadsBelow(beforeId: string, cells: readonly string[]): string[] {
  const leads: string[] = [];
  for (let index = 0; index < cells.length; index += 2) {
    const [name = '', value = ''] = cells.slice(index, index + 2);
    const isEntry = name !== '' && !name.startsWith('\0');
    if (!isEntry) continue;
    const end = itemsLength(value);
    if (value.slice(end - itemLength, end) < beforeId) leads.push(name);
  }
  return leads;
}

const maxMemoryShare = 0.8; // a full Redis refuses every call

/**
 * Evicts latest scores from each server that uses more than 80 % of its memory limit, until it uses less. MongoDB has
 * them too, unlike counters and queues. The organisation with most of them goes first, so that one with many leads
 * costs no other its cache. A server that does not answer is left out.
 * @returns the number of organisations whose scores were evicted
 */
export async function evictUnderPressure(redis: Redis): Promise<number> {
  const evicted = await Promise.allSettled(mastersOf(redis).map(evictOn));
  return evicted.reduce((sum, outcome) => sum + (outcome.status === 'fulfilled' ? outcome.value : 0), 0);
}

async function evictOn(master: Redis): Promise<number> {
  const memory = await master.info('memory');
  const figureOf = (name: string) => Number(factOf(memory, name) ?? 0);
  const limit = figureOf('maxmemory');
  let excess = figureOf('used_memory') - maxMemoryShare * limit;
  if (limit === 0 || excess < 0) return 0;
  const sizes = new Map<string, number>();
  // One command a key: keys of several organisations are in several slots.
  for await (const keys of keysOn(master, anyLatestScoresKey))
    await Promise.all(keys.map(async (key) => sizes.set(key, (await master.memory('USAGE', key)) ?? 0)));
  let evicted = 0;
  for (const [key, bytes] of [...sizes].sort(([, one], [, other]) => other - one)) {
    if (excess < 0) break;
    await master.unlink(key);
    excess -= bytes;
    evicted += 1;
  }
  return evicted;
}

/**
 * For the sweep, which settles calls of dead gateways without knowing their scores: drops the latest scores of their
 * organisation first.
 */
export const invalidateSettled =
  (latest: Pick<LatestScores, 'forget'>) =>
  async ({ organisationId, bucket }: UsageCounter): Promise<void> => {
    if (bucket === 'live') await latest.forget(organisationId);
  };
