import { LRUCache } from 'lru-cache';

/** A change takes effect on every gateway within this time. */
export const maxStaleMs = 5_000;
/** Bounds the effect of a change that was made without an entry in the change log, as by hand in MongoDB. */
const ttlMs = 10 * 60_000;

export interface FollowedCacheOptions<Value> {
  /** A failed read, or one without a result, is not cached. */
  readonly read: (key: string) => Promise<Value | undefined>;
  readonly maxBytes: number;
  readonly bytesOf: (value: Value) => number;
  /** Whether the change log is followed; by default it is not. */
  readonly isFollowing?: (() => boolean) | undefined;
  /** Ms for which an entry holds while the change log is not followed; 5 s by default. */
  readonly unfollowedMs?: number;
  /** Whether an entry that should be read again holds while it cannot be read; `get` is then undefined without one. */
  readonly keepsOnFailure?: boolean;
}

/**
 * A cache of data in MongoDB that is read once for each change. Its entries hold for ten minutes while the change log
 * is followed, which drops them when they change. Otherwise they hold for some seconds.
 */
export class FollowedCache<Value extends object> {
  private readonly cache: LRUCache<string, Value>;
  private readonly isFollowing: () => boolean;
  private readonly unfollowedMs: number;

  constructor(options: FollowedCacheOptions<Value>) {
    const { read, maxBytes, bytesOf, isFollowing = () => false, unfollowedMs = maxStaleMs, keepsOnFailure } = options;
    this.isFollowing = isFollowing;
    this.unfollowedMs = unfollowedMs;
    this.cache = new LRUCache({
      maxSize: maxBytes,
      // A larger entry would not be cached.
      sizeCalculation: (value) => Math.min(Math.ceil(bytesOf(value)), maxBytes),
      ttl: ttlMs,
      // Without this, `forget` and `clear` would fail the calls that wait for a read. Their result is not cached.
      ignoreFetchAbort: true,
      allowStaleOnFetchRejection: keepsOnFailure ?? false,
      fetchMethod: read,
    });
  }

  /**
   * The value of a key, from the cache or read. Concurrent calls share a read.
   * @param options.isStale reads it again
   * @throws the error of the read
   */
  get(key: string, { isStale = false } = {}): Promise<Value | undefined> {
    return this.cache.fetch(key, { forceRefresh: isStale || (!this.isFollowing() && this.isOld(key)) });
  }

  /** Whether a key is cached, also when it is about to be read again. */
  has(key: string): boolean {
    return this.cache.peek(key, { allowStale: true }) !== undefined;
  }

  /** The keys of all entries but those that are being read. */
  keys(): Iterable<string> {
    return this.cache.keys();
  }

  values(): Iterable<Value> {
    return this.cache.values();
  }

  forget(key: string): void {
    this.cache.delete(key);
  }

  clear(): void {
    this.cache.clear();
  }

  private isOld(key: string): boolean {
    return this.cache.has(key) && ttlMs - this.cache.getRemainingTTL(key) >= this.unfollowedMs;
  }
}
