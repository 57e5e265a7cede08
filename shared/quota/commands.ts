import { Batcher } from '../async/batcher.js';
import { notesOf, type ScoredLeads } from '../latest-scores/call-notes.js';
import { latestTtlMs, maxLatestLeads } from '../latest-scores/latest-scores.js';
import type { Redis } from '../redis/connect.js';
import {
  callKey,
  endedCallsKey,
  leasesKey,
  rebuildLockKey,
  type UsageCounter,
  usageKey,
} from '../redis/keys.js';
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
 * Names what each Lua command of the quota takes; each script's head is its contract. All of them may be sent twice. What is
 * reserved on a counter in one turn of the event loop is sent together, and what is settled too.
 */
export interface QuotaCommands {
  /** `deadlineRedisMs` is the Redis time after which the command must not hold anything any more. */
  reserve(call: ReserveCall): Promise<QuotaReply>;
  /** `newest`: what becomes the newest scores of its leads. */
  settle(call: SettleCall): Promise<QuotaReply>;
  /** `recountLater`: for whoever cannot be sure that the call will never be recorded. */
  release(call: CallOfCounter & { readonly recountLater?: boolean }): Promise<QuotaReply>;
  /** `records` is left out while more batches of `calls` are to come. */
  restore(batch: {
    readonly counter: UsageCounter;
    readonly token: string;
    readonly leaseMs: number;
    readonly keepMs: number;
    readonly records?: number;
    readonly calls: readonly RecordedCall[];
  }): Promise<QuotaReply>;
  /** Has what ends from now on noted, for `keepMs` at most. */
  beginRecount(begin: {
    readonly counter: UsageCounter;
    readonly token: string;
    readonly keepMs: number;
  }): Promise<QuotaReply>;
  recount(count: {
    readonly counter: UsageCounter;
    readonly token: string;
    /** The ledger's sum, with what had ended since. */
    readonly records: number;
    /** How many entries of what has ended since are in `records`, and what was settled by these. */
    readonly entries: number;
    readonly settledRecords: number;
    readonly mayBeHeld: readonly RecordedCall[];
  }): Promise<QuotaReply>;
  read(counter: UsageCounter): Promise<QuotaReply>;
  /** Ids of at most `limit` calls whose lease has run out. */
  expiredLeases(counter: UsageCounter, limit: number): Promise<string[]>;
}

/** Reads the quota's scripts and makes commands of them on a connection. */
export function quotaCommands(redis: Redis): QuotaCommands {
  const command = (name: string) =>
    luaCommand(redis, { file: `shared/quota/lua/${name}.lua`, reply: quotaReply });
  const ofGroup = (name: string) =>
    luaCommand(redis, { file: `shared/quota/lua/${name}.lua`, reply: quotaReplies, atOnce: true });
  const reserve = ofGroup('reserve');
  const settle = ofGroup('settle');
  const reserves = new Batcher<ReserveCall, QuotaReply>({
    run: (calls, { counter, leaseMs }) =>
      reserve({
        keys: [usageKey(counter), leasesKey(counter), ...callKeys(counter, calls)],
        args: [
          leaseMs,
          ...calls.flatMap((call) => [call.callId, call.records, call.stop, call.deadlineRedisMs]),
        ],
      }),
  });
  const settles = new Batcher<SettleCall, QuotaReply>({
    run: (calls, { counter, leaseMs }) => {
      const notes = notesOf(calls);
      return settle({
        keys: [...endingKeys(counter, calls), ...notes.map(({ key }) => key)],
        args: [
          ...[calls.length, leaseMs, latestTtlMs, maxLatestLeads],
          ...calls.map(({ callId }) => callId),
          ...notes.flatMap(({ args }) => args),
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
        args: [
          token,
          records,
          entries,
          settledRecords,
          ...mayBeHeld.flatMap((call) => [call.callId, call.records]),
        ],
      }),
    read: (counter) => read({ keys: [usageKey(counter)], args: [] }),
    expiredLeases: (counter, limit) => expired({ keys: [leasesKey(counter)], args: [limit] }),
  };
}

/** Calls of one key may share a command. */
const batchKey = ({ counter, leaseMs }: CallOfCounter): string => `${usageKey(counter)} ${leaseMs}`;

const callKeys = (
  { organisationId }: UsageCounter,
  calls: readonly { readonly callId: string }[],
): readonly string[] => calls.map(({ callId }) => callKey(organisationId, callId));

/** What ending calls touches. */
const endingKeys = (
  counter: UsageCounter,
  calls: readonly { readonly callId: string }[],
): readonly string[] => [
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
  if (reply === undefined) throw new TypeError('A quota script answered nothing');
  return reply;
}

/** Reads code, used and leased of each call, in turn. */
function quotaReplies(raw: unknown): QuotaReply[] {
  const numbers = integersReply(raw);
  const replies: QuotaReply[] = [];
  for (let start = 0; start < numbers.length; start += numbersOfReply) {
    const [code, used, leased] = numbers.slice(start, start + numbersOfReply);
    if (code === undefined || used === undefined || leased === undefined)
      throw new TypeError('A quota script answered with fewer than three numbers for a call');
    replies.push({ code, used, leased });
  }
  return replies;
}
