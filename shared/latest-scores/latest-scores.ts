import { randomBase62 } from '../contract/identifiers.js';
import type { Redis } from '../redis/connect.js';
import { latestScoresKey } from '../redis/keys.js';
import { integerReply, luaCommand, stringsReply } from '../redis/lua-command.js';
import type { LeadScores } from '../store/calls/lead-lookup.js';

/** TTL of an organisation's latest scores after the last settled call, ms. */
export const latestTtlMs = 7 * 24 * 60 * 60 * 1_000;

/** Max leads of one organisation in Redis, at 100 to 200 bytes each. For further leads, MongoDB is asked. */
export const maxLatestLeads = 500_000;

/** Sorts after every call id. */
const aboveAllIds = '~';

/** Latest scores of some leads. */
export interface CachedLeads {
  /** For `ScoredLeads`. */
  readonly epoch: string;
  /**
   * One entry a crm_id, empty when Redis knows none. Undefined where it does not know the lead; `own` is undefined
   * where it does not know the lead's score under the model.
   */
  readonly leads: readonly (LeadScores | undefined)[];
}

/**
 * Cache of the latest scores of each lead, in Redis: one hash an organisation. Only a live call that is about to be
 * settled adds to it (note-scores.ts). An entry is never older than the last settled call; MongoDB knows what is
 * missing.
 *
 * The hash is dropped:
 * - when Redis has restarted;
 * - when another process than its gateway settled a recorded call;
 * - when a recorded call is voided.
 *
 * When a lead is erased, its entry is dropped and the epoch changes. The head of read-scores.lua defines the hash, and
 * how it stays true when calls settle late.
 */
export class LatestScores {
  private readonly readLatest;
  private readonly forgetBelow;

  constructor(private readonly redis: Redis) {
    this.readLatest = luaCommand(redis, { file: 'shared/latest-scores/read-scores.lua', reply: stringsReply });
    this.forgetBelow = luaCommand(redis, { file: 'shared/latest-scores/forget-leads.lua', reply: integerReply });
  }

  /**
   * Reads the latest scores of leads; their own ones under one model.
   * @throws the error of Redis or of the connection, also when memory is full
   */
  async read(query: {
    readonly organisationId: string;
    readonly modelId: string;
    readonly crmIds: readonly string[];
  }): Promise<CachedLeads> {
    const { organisationId, modelId, crmIds } = query;
    const [epoch = '', number = '', entries] = await this.readLatest({
      keys: [latestScoresKey(organisationId)],
      args: [randomBase62(12), latestTtlMs, modelId, JSON.stringify(crmIds)],
    });
    return { epoch, leads: entries?.split('\n').map((entry) => cachedLead(entry, number)) ?? [] };
  }

  /**
   * Drops an erased lead's entry. Runs twice: when its predictions have been erased, and again a lease later, after
   * the second erasure of what calls recorded that were in flight. Calls from before store nothing afterwards.
   */
  async forgetLead({ organisationId, crmId }: { organisationId: string; crmId: string }): Promise<void> {
    const args = [aboveAllIds, randomBase62(12), crmId];
    await this.forgetBelow({ keys: [latestScoresKey(organisationId)], args });
  }

  /** Drops all entries of an organisation; the next calls ask MongoDB. */
  async forget(organisationId: string): Promise<void> {
    await this.redis.unlink(latestScoresKey(organisationId));
  }
}

/** The length of an item; read-scores.lua defines its form. */
export const itemLength = 36;

function cachedLead(entry: string, number: string): LeadScores | undefined {
  if (entry === '') return undefined;
  const isOwn = (at: number): boolean => number !== '' && entry.startsWith(number, at + 33);
  let at = 0;
  while (at < entry.length && !isOwn(at)) at += itemLength;
  const own = at < entry.length ? { id: idOf(entry, at), score: Number(entry.slice(at + 30, at + 33)) } : undefined;
  return { latestId: idOf(entry, 0), own };
}

const idOf = (entry: string, at: number): string => `${entry.slice(at, at + 26)}.${entry.slice(at + 26, at + 30)}`;
