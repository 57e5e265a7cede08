import { Batcher } from '../async/batcher.js';
import { type ScoredLeads, ScoreNotes } from '../latest-scores/note-scores.js';
import type { Redis } from '../redis/connect.js';
import { callKey, endedCallsKey, leasesKey, rebuildLockKey, type UsageCounter, usageKey } from '../redis/keys.js';
import { integersReply, luaCommand, stringsReply } from '../redis/lua-command.js';
import type { RecordedCall } from './ledger-view.js';

/** Reply codes of the quota's Lua scripts. Each script's head lists its codes and their meaning. */
export const quotaCode = {
  done: 1,
  alreadyDone: 2,
  wouldCrossStop: -1,
  unknownCounter: -2,
  tooLate: -3,
  callEnded: -4,
  alreadyReleased: -5,
  noSuchLease: -6,
  alreadySettled: -7,
  lockLost: -8,
  beginAgain: -9,
  earlierRun: -10,
} as const;

/** Reply of a quota script: `code` is one of `quotaCode`; `used` and `leased` are records, after the script. */
export interface QuotaReply {
  readonly code: number;
  readonly used: number;
  readonly leased: number;
}

/** Base class of all errors of the quota. */
export class QuotaError extends Error {
  override readonly name: string = 'QuotaError';
}

/** The call would cross the hard stop. No records are held. `used` and `leased` are records. */
export class QuotaWouldCrossStop extends QuotaError {
  override readonly name = 'QuotaWouldCrossStop';
  readonly used: number;
  readonly leased: number;

  constructor({ used, leased }: { readonly used: number; readonly leased: number }) {
    super(`the call would cross the hard stop: ${used} records are used and ${leased} are held`);
    this.used = used;
    this.leased = leased;
  }
}

/** The call's deadline passed before its records were held. */
export class QuotaTooLate extends QuotaError {
  override readonly name = 'QuotaTooLate';
}

/** The call was settled or released already. Its id cannot hold records again. */
export class QuotaCallEnded extends QuotaError {
  override readonly name = 'QuotaCallEnded';
}

/** The call has lost its lease and is not counted. Its row must be voided. */
export class QuotaLeaseLost extends QuotaError {
  override readonly name = 'QuotaLeaseLost';
}

/** Redis or the ledger failed. The outcome is unknown. */
export class QuotaUnavailable extends QuotaError {
  override readonly name = 'QuotaUnavailable';
}

/** Maps a script's refusal to an error. */
export function quotaError({ code, used, leased }: QuotaReply): QuotaError {
  switch (code) {
    case quotaCode.wouldCrossStop:
      return new QuotaWouldCrossStop({ used, leased });
    case quotaCode.tooLate:
      return new QuotaTooLate("the call's deadline passed before its records were held");
    case quotaCode.callEnded:
      return new QuotaCallEnded('the call has already been settled or released');
    case quotaCode.alreadyReleased:
      return new QuotaLeaseLost("the call's lease expired and was released");
    case quotaCode.noSuchLease:
      return new QuotaLeaseLost("Redis has lost the call's lease");
    case quotaCode.unknownCounter:
      return new QuotaUnavailable('the usage counter is lost and could not be restored');
    default:
      return new QuotaUnavailable(`the quota script returned code ${code}`);
  }
}

const numbersOfReply = 3;

interface CallOfCounter {
  readonly counter: UsageCounter;
  readonly callId: string;
  readonly leaseMs: number;
}

interface SettleCall extends CallOfCounter {
  readonly latest?: ScoredLeads | undefined;
}

interface ReserveCall extends CallOfCounter {
  readonly records: number;
  readonly stop: number;
  readonly deadlineRedisMs: number;
}

/**
 * The quota's Lua scripts as typed commands. Each script's head is its contract. All commands are idempotent. Reserves
 * of one counter in one iteration of the event loop share a script call, and so do settles.
 */
export interface QuotaCommands {
  /** @param call `deadlineRedisMs` is the Redis time after which the script must not hold records */
  reserve(call: ReserveCall): Promise<QuotaReply>;
  /** @param call `latest` become the latest scores of their leads */
  settle(call: SettleCall): Promise<QuotaReply>;
  /** @param call `recountLater` requests a recount, for a caller that cannot rule out a later commit of the call */
  release(call: CallOfCounter & { readonly recountLater?: boolean }): Promise<QuotaReply>;
  /** @param batch `records` is undefined until the last batch of `calls` */
  restore(batch: {
    readonly counter: UsageCounter;
    readonly token: string;
    readonly leaseMs: number;
    readonly keepMs: number;
    readonly records?: number;
    readonly calls: readonly RecordedCall[];
  }): Promise<QuotaReply>;
  /** Lists the calls that end from now on, for `keepMs` at most. */
  beginRecount(begin: {
    readonly counter: UsageCounter;
    readonly token: string;
    readonly keepMs: number;
  }): Promise<QuotaReply>;
  recount(count: {
    readonly counter: UsageCounter;
    readonly token: string;
    /** The ledger's sum, corrected by the first `entries` of the list. */
    readonly records: number;
    /** Entries of the list of ended calls that `records` includes, and the records that those settled. */
    readonly entries: number;
    readonly settledRecords: number;
    readonly mayBeHeld: readonly RecordedCall[];
  }): Promise<QuotaReply>;
  read(counter: UsageCounter): Promise<QuotaReply>;
  /** Ids of up to `limit` calls whose lease has expired. */
  expiredLeases(counter: UsageCounter, limit: number): Promise<string[]>;
}

/** Reads the quota's scripts and makes commands of them. */
export function quotaCommands(redis: Redis): QuotaCommands {
  const command = (name: string) => luaCommand(redis, { file: `shared/quota/lua/${name}.lua`, reply: quotaReply });
  const batchCommand = (name: string) =>
    luaCommand(redis, { file: `shared/quota/lua/${name}.lua`, reply: quotaReplies, atOnce: true });
  const reserve = batchCommand('reserve');
  const settle = batchCommand('settle');
  const reserves = new Batcher<ReserveCall, QuotaReply>({
    run: (calls, { counter, leaseMs }) =>
      reserve({
        keys: [usageKey(counter), leasesKey(counter), ...callKeys(counter, calls)],
        args: [leaseMs, ...calls.flatMap((call) => [call.callId, call.records, call.stop, call.deadlineRedisMs])],
      }),
  });
  const notes = new ScoreNotes(redis);
  const settles = new Batcher<SettleCall, QuotaReply>({
    run: async (calls, { counter, leaseMs }) => {
      // Sent first, in the same write. A failure is no reason to leave the replies of settle.lua unread.
      const noting = notes.add(calls).then(
        (released) => ({ released, cause: undefined }),
        (cause: unknown) => ({ released: undefined, cause }),
      );
      const args = [leaseMs, ...calls.map(({ callId }) => callId)];
      const replies = await settle({ keys: endingKeys(counter, calls), args });
      const { released, cause } = await noting;
      const isLacking = ({ callId, latest }: SettleCall) => latest !== undefined && (released?.has(callId) ?? true);
      return calls.map((call, index) => {
        const reply = replies[index] as QuotaReply;
        return reply.code > 0 && isLacking(call) ? new QuotaUnavailable('the scores are not noted', { cause }) : reply;
      });
    },
  });
  const release = command('release');
  const restore = command('restore');
  const beginRecount = command('begin-recount');
  const recount = command('recount');
  const read = command('read-counter');
  const expired = luaCommand(redis, { file: 'shared/quota/lua/expired-leases.lua', reply: stringsReply });
  return {
    reserve: (call) => reserves.add(batchKey(call), call),
    settle: (call) => settles.add(batchKey(call), call),
    release: ({ counter, callId, leaseMs, recountLater = false }) =>
      release({ keys: endingKeys(counter, [{ callId }]), args: [callId, leaseMs, recountLater ? 1 : 0] }),
    restore: ({ counter, token, leaseMs, keepMs, records, calls }) =>
      restore({
        keys: [...counterKeys(counter), ...callKeys(counter, calls)],
        args: [token, leaseMs, keepMs, records ?? '', ...calls.map((call) => call.records)],
      }),
    beginRecount: ({ counter, token, keepMs }) =>
      beginRecount({
        keys: [usageKey(counter), endedCallsKey(counter), rebuildLockKey(counter)],
        args: [token, keepMs],
      }),
    recount: ({ counter, token, records, entries, settledRecords, mayBeHeld }) =>
      recount({
        keys: [...counterKeys(counter), endedCallsKey(counter)],
        args: [token, records, entries, settledRecords, ...mayBeHeld.flatMap((call) => [call.callId, call.records])],
      }),
    read: (counter) => read({ keys: [usageKey(counter)], args: [] }),
    expiredLeases: (counter, limit) => expired({ keys: [leasesKey(counter)], args: [limit] }),
  };
}

/** Calls with the same key may share a script call. */
const batchKey = ({ counter, leaseMs }: CallOfCounter): string => `${usageKey(counter)} ${leaseMs}`;

const callKeys = ({ organisationId }: UsageCounter, calls: readonly { readonly callId: string }[]): readonly string[] =>
  calls.map(({ callId }) => callKey(organisationId, callId));

/** Keys of scripts that end calls. */
const endingKeys = (counter: UsageCounter, calls: readonly { readonly callId: string }[]): readonly string[] => [
  usageKey(counter),
  leasesKey(counter),
  endedCallsKey(counter),
  ...callKeys(counter, calls),
];

const counterKeys = (counter: UsageCounter): string[] => [
  usageKey(counter),
  leasesKey(counter),
  rebuildLockKey(counter),
];

function quotaReply(raw: unknown): QuotaReply {
  const [reply] = quotaReplies(raw);
  if (reply === undefined) throw new TypeError('a quota script returned no reply');
  return reply;
}

/** Parses code, used and leased of each call, in turn. */
function quotaReplies(raw: unknown): QuotaReply[] {
  const numbers = integersReply(raw);
  const replies: QuotaReply[] = [];
  for (let start = 0; start < numbers.length; start += numbersOfReply) {
    const [code, used, leased] = numbers.slice(start, start + numbersOfReply);
    if (code === undefined || used === undefined || leased === undefined)
      throw new TypeError('a quota script returned fewer than three numbers for a call');
    replies.push({ code, used, leased });
  }
  return replies;
}
