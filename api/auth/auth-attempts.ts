import { LRUCache } from 'lru-cache';
import { FairQueue } from '../../shared/async/fair-queue.js';
import { ApiError } from '../../shared/contract/errors.js';
import { type Addressed, type CallerAddress, networkOf } from './client-ip.js';

/** Unknown keys that a network may try at once; one more every `refillMs`. */
export const unknownKeysAllowed = 30;
const refillMs = 2_000;
/** How long a hash is remembered as unknown. */
const unknownTtlMs = 5_000;
const maxEntries = 10_000; // of each cache, some 300 bytes each
/** Concurrent look-ups for all networks over their limit together. */
const maxLookUps = 4;
const maxWaitMs = 3_000;

/**
 * Limits how many unknown keys a network may try at this gateway:
 *
 * 1. A key that was unknown less than five seconds ago is rejected without a look-up. It does not count,
 *    because a misconfigured service repeats one key.
 * 2. Every other unknown key takes a token from the bucket of its network.
 * 3. While the bucket is empty, keys of this network are looked up a few at a time, in round robin with other
 *    networks. A known key passes, also behind a NAT with a bad caller. An unknown key gets 429.
 */
export class AuthAttempts {
  private readonly unknown = new LRUCache<string, true>({ max: maxEntries, ttl: unknownTtlMs });
  /** When the bucket of each network is full again, in monotonic ms. */
  private readonly fullAtMs = new LRUCache<string, number>({ max: maxEntries });
  private readonly queue = new FairQueue({ size: () => maxLookUps, maxWaiting: 512 });

  constructor(private readonly options: { addressOf: CallerAddress; nowMs?: () => number }) {}

  /**
   * Looks up a key. `lookUp` gives undefined for an unknown one.
   * @throws ApiError rateLimited over the limit; what `lookUp` throws
   */
  async find<Key>(request: Addressed, hash: string, lookUp: () => Promise<Key | undefined>) {
    if (this.unknown.has(hash)) return undefined;
    const network = networkOf(this.options.addressOf(request));
    const key = await (this.waitMs(network) > 0 ? this.lookUpInTurn(network, lookUp) : lookUp());
    // Concurrent calls with one unknown key count once.
    if (key !== undefined || this.unknown.has(hash)) return key;
    this.unknown.set(hash, true);
    if (this.waitMs(network) > 0) throw this.tooMany(network);
    this.fullAtMs.set(network, this.nowMs() + this.untilFullMs(network) + refillMs);
    return undefined;
  }

  private async lookUpInTurn<Key>(network: string, lookUp: () => Promise<Key>): Promise<Key> {
    return await this.queue.run(network, maxWaitMs, lookUp).catch((error: unknown) => {
      // Only the queue throws an ApiError: it is full or too slow.
      throw error instanceof ApiError ? this.tooMany(network) : error;
    });
  }

  private nowMs(): number {
    return this.options.nowMs?.() ?? performance.now();
  }

  private untilFullMs(network: string): number {
    return Math.max(0, (this.fullAtMs.get(network) ?? 0) - this.nowMs());
  }

  /** Time until the bucket of a network holds a token; 0 or less if it holds one. */
  private waitMs(network: string): number {
    return this.untilFullMs(network) - (unknownKeysAllowed - 1) * refillMs;
  }

  private tooMany(network: string): ApiError {
    return new ApiError('rateLimited', 'Too many calls with unknown API keys came from this address.', {
      retryAfterSeconds: Math.max(1, Math.ceil(this.waitMs(network) / 1000)),
    });
  }
}
