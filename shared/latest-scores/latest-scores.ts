import { randomBase62 } from '../contract/identifiers.js';
import type { Redis } from '../redis/connect.js';
import { latestScoresKey } from '../redis/keys.js';
import { integerReply, luaCommand, stringsReply } from '../redis/lua-command.js';
import type { LeadScores } from '../store/calls/lead-lookup.js';

/** TTL of an organisation's latest scores after the last settled call, ms. */
export const latestTtlMs = 7 * 24 * 60 * 60 * 1_000;

/** Max leads of one organisation in Redis, at 100 to 250 bytes each. For further leads, MongoDB is asked. */
export const maxLatestLeads = 500_000;

/** Sorts after every call id. */
const aboveAllIds = '~';

/** The latest scores of a lead. */
export interface CachedLead extends LeadScores {
  /**
   * The slots that have no value in the latest prediction, as bits: see `gapsOf`. Undefined or 0 when Redis does not
   * know, and when that prediction is of another version than the one that was asked for.
   */
  readonly gaps?: number | undefined;
}

/** Latest scores of some leads. */
export interface CachedLeads {
  /** For `ScoredLeads`. */
  readonly epoch: string;
  /**
   * One entry a crm_id, empty when Redis knows none. Undefined where it does not know the lead; `own` is undefined
   * where it does not know the lead's score under the model.
   */
  readonly leads: readonly (CachedLead | undefined)[];
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
   * Reads the latest scores of leads, their own ones under one model, and the gaps of predictions of one version of it.
   * @throws the error of Redis or of the connection, also when memory is full
   */
  async read(query: {
    readonly organisationId: string;
    readonly modelId: string;
    readonly version: string;
    readonly crmIds: readonly string[];
  }): Promise<CachedLeads> {
    const { organisationId, modelId, version, crmIds } = query;
    const [epoch = '', entries, model = '', ofVersion = ''] = await this.readLatest({
      keys: [latestScoresKey(organisationId)],
      args: [randomBase62(12), latestTtlMs, modelId, version, JSON.stringify(crmIds)],
    });
    return {
      epoch,
      leads: entries?.split('\n').map((entry) => cachedLead(entry, { model, version: ofVersion })) ?? [],
    };
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

/** The lengths of an item and of a tail; read-scores.lua defines their forms. */
export const itemLength = 36;
const tailLength = 24;

/** The length of the items of an entry, without its tail. */
export const itemsLength = (entry: string): number => entry.length - (entry.length % itemLength);

/** The numbers in Redis of a model and of its version; empty when they have none. */
interface Numbers {
  readonly model: string;
  readonly version: string;
}

function cachedLead(entry: string, { model, version }: Numbers): CachedLead | undefined {
  if (entry === '') return undefined;
  const end = itemsLength(entry);
  const isOwn = (at: number): boolean => model !== '' && entry.startsWith(model, at + 33);
  let at = 0;
  while (at < end && !isOwn(at)) at += itemLength;
  const own = at < end ? { id: idOf(entry, at), score: Number(entry.slice(at + 30, at + 33)) } : undefined;
  return { latestId: idOf(entry, 0), own, gaps: gapsIn(entry.slice(end), { entry, version }) };
}

const idOf = (entry: string, at: number): string => `${entry.slice(at, at + 26)}.${entry.slice(at + 26, at + 30)}`;

const gapDigits = 5;
const gapBase = 32;

/** The gaps of a recorded row as text of a tail. */
export const gapsText = (gaps: number): string => gaps.toString(gapBase).padStart(gapDigits, '0');

/** The gaps in a tail, if that is about the first item of the entry and the version. */
function gapsIn(tail: string, { entry, version }: Pick<Numbers, 'version'> & { readonly entry: string }): number {
  const isTrue = tail.length === tailLength && version !== '' && tail.startsWith(entry.slice(15, 30) + version, 1);
  return isTrue ? Number.parseInt(tail.slice(-gapDigits), gapBase) : 0;
}
