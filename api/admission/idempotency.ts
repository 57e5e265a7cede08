import { createHash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../../shared/contract/dates.js';
import { ApiError } from '../../shared/contract/errors.js';
import type { Redis } from '../../shared/redis/connect.js';
import { replayClaimKey } from '../../shared/redis/keys.js';
import { type Lock, Locks } from '../../shared/redis/lock.js';
import { type IdempotencyStore, type IdempotentReply, idempotencyId } from '../../shared/store/calls/idempotency.js';
import { type Idempotency, msUntil, type ScoringCall } from '../call/scoring-call.js';

/** The body of a 200. */
export interface Reply {
  readonly body: string;
  readonly isReplay: boolean;
}

/** Another call was recorded under the same Idempotency-Key while this one ran. This one was not recorded. */
export class IdempotencyConflict extends Error {
  override name = 'IdempotencyConflict';
}

export interface IdempotencyKeysOptions {
  readonly redis: Redis;
  readonly store: Pick<IdempotencyStore, 'find' | 'markReplayed' | 'amend'>;
  readonly clock: Clock;
}

interface IdempotentCall extends ScoringCall {
  readonly idempotency: Idempotency;
}

const firstPollMs = 10;
const maxPollMs = 250;
/** Time kept back for one last read of the stored reply. */
const lastReadMs = 100;
const claimGraceMs = 1_000; // a claim expires this long after the deadline of its call

/**
 * Runs a call under an Idempotency-Key once. MongoDB holds the stored reply, written in one transaction with the ledger
 * row: a replay is never counted, even after Redis was emptied. The claim in Redis only makes the second of two
 * concurrent calls wait for the first.
 */
export class IdempotencyKeys {
  private readonly locks: Locks;

  constructor(private readonly options: IdempotencyKeysOptions) {
    this.locks = new Locks(options.redis);
  }

  /**
   * Runs `work`, or returns the stored reply of the same key.
   * @throws ApiError unreadableRequest when the key was used with another body; what `work` throws
   */
  async once(call: ScoringCall, work: () => Promise<Reply>): Promise<Reply> {
    if (!isIdempotent(call)) return await work();
    const before = await this.replay(call);
    if (before !== undefined) return before;
    const claim = await this.claimOrReplay(call);
    if ('body' in claim) return claim;
    try {
      return (await this.replay(call)) ?? (await work());
    } catch (error) {
      const stored = error instanceof IdempotencyConflict ? await this.replay(call) : undefined;
      if (stored !== undefined) return stored;
      throw error;
    } finally {
      void claim.drop();
    }
  }

  /**
   * Replaces the stored reply by the one that is sent: its usage may have changed since it was recorded.
   * @param recorded the reply stored with the ledger row; undefined without an Idempotency-Key
   */
  async updateStoredReply(call: ScoringCall, recorded: string | undefined, body: string): Promise<Reply> {
    if (recorded !== undefined && recorded !== body && isIdempotent(call)) {
      // On failure, a replay returns the recorded reply: the same scores with slightly older usage.
      await this.options.store.amend(this.id(call), body, msUntil(call.deadline)).catch(() => undefined);
    }
    return { body, isReplay: false };
  }

  private async claimOrReplay(call: IdempotentCall): Promise<Lock | Reply> {
    for (let pollMs = firstPollMs; ; pollMs = Math.min(2 * pollMs, maxPollMs)) {
      const claim = await this.locks.take(this.claimKey(call), { ttlMs: msUntil(call.deadline) + claimGraceMs });
      if (claim !== undefined) return claim;
      const remainingMs = msUntil(call.deadline) - lastReadMs;
      if (remainingMs <= 0) {
        const message = `Another call with this ${call.idempotency.name} is still running.`;
        throw new ApiError('internalError', message, { retryAfterSeconds: 1 });
      }
      await wait(Math.min(pollMs, remainingMs));
      const reply = await this.replay(call);
      if (reply !== undefined) return reply;
    }
  }

  private async replay(call: IdempotentCall): Promise<Reply | undefined> {
    const { store, clock } = this.options;
    const stored = await store.find(this.id(call), clock.now(), msUntil(call.deadline));
    if (stored === undefined) return undefined;
    const reply = replayOf(stored, call.idempotency);
    const stays = stored.replayed_at !== undefined || (await store.markReplayed(stored, msUntil(call.deadline)));
    return stays ? reply : undefined;
  }

  private id(call: IdempotentCall): string {
    return idempotencyId(call.apiKey.organisation_id, call.bucket, call.idempotency.key);
  }

  private claimKey(call: IdempotentCall): string {
    const digest = createHash('sha256').update(call.idempotency.key).digest('base64url');
    return replayClaimKey(call.apiKey.organisation_id, call.bucket, digest);
  }
}

const isIdempotent = (call: ScoringCall): call is IdempotentCall => call.idempotency !== undefined;

function replayOf(stored: IdempotentReply, { bodyHash, name }: Idempotency): Reply {
  if (stored.body_hash === bodyHash) return { body: stored.reply, isReplay: true };
  throw new ApiError(
    'unreadableRequest',
    `This ${name} was used for a call with another body or another URL. Use a new one for each new call.`,
  );
}
