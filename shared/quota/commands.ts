import { Batcher } from '../async/batcher.js';
import { latestTtlMs, maxLatestLeads, notesOf, type ScoredLeads } from '../latest-scores/latest-scores.js';
import type { Redis } from '../redis/connect.js';
import { callKey, endedCallsKey, leasesKey, rebuildLockKey, type UsageCounter, usageKey } from '../redis/keys.js';
import { integersReply, luaCommand, stringsReply } from '../redis/lua-command.js';
import type { QuotaReply } from './codes.js';
import type { RecordedCall } from './ledger-view.js';

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
 * of one counter in one turn of the event loop share a script call, and so do settles.
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
  const settles = new Batcher<SettleCall, QuotaReply>({
    run: (calls, { counter, leaseMs }) => {
      const notes = notesOf(calls);
      return settle({
        keys: [...endingKeys(counter, calls), ...notes.keys],
        args: [
          ...[calls.length, leaseMs, latestTtlMs, maxLatestLeads],
          ...calls.map(({ callId }) => callId),
          ...notes.args,
        ],
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
