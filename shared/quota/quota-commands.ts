import { integersReply, luaCommand, stringsReply } from '../lua-command.js';
import type { Redis } from '../redis.js';
import { callKey, leasesKey, rebuildLockKey, type UsageCounter, usageKey } from '../redis-keys.js';
import type { RecordedCall } from './ledger-view.js';
import type { QuotaReply } from './quota-codes.js';

interface CallOfCounter {
  readonly counter: UsageCounter;
  readonly callId: string;
  readonly leaseMs: number;
}

/** Names what each Lua command of the quota takes; each script's head is its contract. All of them may be sent twice. */
export interface QuotaCommands {
  /** `deadlineRedisMs` is the Redis time after which the command must not hold anything any more. */
  reserve(
    call: CallOfCounter & {
      readonly records: number;
      readonly stop: number;
      readonly deadlineRedisMs: number;
    },
  ): Promise<QuotaReply>;
  settle(call: CallOfCounter): Promise<QuotaReply>;
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
  recount(count: {
    readonly counter: UsageCounter;
    readonly token: string;
    readonly usedBefore: string;
    readonly records: number;
    readonly mayBeHeld: readonly RecordedCall[];
  }): Promise<QuotaReply>;
  read(counter: UsageCounter): Promise<QuotaReply>;
  /** Ids of at most `limit` calls whose lease has run out. */
  expiredLeases(counter: UsageCounter, limit: number): Promise<string[]>;
}

/** Reads the quota's scripts and makes commands of them on a connection. */
export function quotaCommands(redis: Redis): QuotaCommands {
  const command = (name: string) =>
    luaCommand(redis, { file: `shared/quota/${name}.lua`, reply: quotaReply });
  const reserve = command('reserve');
  const settle = command('settle');
  const release = command('release');
  const restore = command('restore');
  const recount = command('recount');
  const read = command('read-counter');
  const expired = luaCommand(redis, { file: 'shared/quota/expired-leases.lua', reply: stringsReply });
  return {
    reserve: ({ counter, callId, records, stop, leaseMs, deadlineRedisMs }) =>
      reserve({ keys: callKeys(counter, callId), args: [callId, records, stop, leaseMs, deadlineRedisMs] }),
    settle: ({ counter, callId, leaseMs }) =>
      settle({ keys: callKeys(counter, callId), args: [callId, leaseMs] }),
    release: ({ counter, callId, leaseMs, recountLater = false }) =>
      release({ keys: callKeys(counter, callId), args: [callId, leaseMs, recountLater ? 1 : 0] }),
    restore: ({ counter, token, leaseMs, keepMs, records, calls }) =>
      restore({
        keys: [...counterKeys(counter), ...calls.map((call) => callKey(counter.organisationId, call.callId))],
        args: [token, leaseMs, keepMs, records ?? '', ...calls.map((call) => call.records)],
      }),
    recount: ({ counter, token, usedBefore, records, mayBeHeld }) =>
      recount({
        keys: counterKeys(counter),
        args: [token, usedBefore, records, ...mayBeHeld.flatMap((call) => [call.callId, call.records])],
      }),
    read: (counter) => read({ keys: [usageKey(counter)], args: [] }),
    expiredLeases: (counter, limit) => expired({ keys: [leasesKey(counter)], args: [limit] }),
  };
}

const callKeys = (counter: UsageCounter, callId: string): string[] => [
  usageKey(counter),
  leasesKey(counter),
  callKey(counter.organisationId, callId),
];

const counterKeys = (counter: UsageCounter): string[] => [
  usageKey(counter),
  leasesKey(counter),
  rebuildLockKey(counter),
];

function quotaReply(raw: unknown): QuotaReply {
  const [code, used, leased] = integersReply(raw);
  if (code === undefined || used === undefined || leased === undefined)
    throw new TypeError('A quota script answered with fewer than three numbers');
  return { code, used, leased };
}
