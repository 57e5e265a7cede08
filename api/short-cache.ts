interface Entry<Value> {
  readonly value: Promise<Value>;
  readonly untilMs: number;
}

export interface ShortCacheOptions<Value> {
  /** How long a value is remembered, in ms. */
  readonly ttlMs: number;
  /** Entries at most; the oldest goes first. */
  readonly capacity: number;
  readonly load: (key: string) => Promise<Value>;
}

/**
 * Remembers what was loaded for a short while, and loads it once for all who ask at the same time. A failed load is not
 * remembered. Time is the monotonic clock's: a rehearsal that moves the service's clock does not move this one.
 */
export class ShortCache<Value> {
  private readonly entries = new Map<string, Entry<Value>>();

  constructor(private readonly options: ShortCacheOptions<Value>) {}

  /** The value of a key, loaded when it is not remembered. Rejects with what `load` throws. */
  get(key: string): Promise<Value> {
    const known = this.entries.get(key);
    if (known !== undefined && performance.now() < known.untilMs) return known.value;
    const entry = { value: this.options.load(key), untilMs: performance.now() + this.options.ttlMs };
    this.entries.delete(key);
    this.entries.set(key, entry);
    entry.value.catch(() => {
      if (this.entries.get(key) === entry) this.entries.delete(key);
    });
    if (this.entries.size > this.options.capacity) {
      const [oldest] = this.entries.keys();
      if (oldest !== undefined) this.entries.delete(oldest);
    }
    return entry.value;
  }

  /** Whether a key was loaded, or is being loaded, and there was room to keep it since; it may have to be loaded again. */
  has(key: string): boolean {
    return this.entries.has(key);
  }

  /** Forgets one key. */
  forget(key: string): void {
    this.entries.delete(key);
  }

  /** Forgets everything. */
  clear(): void {
    this.entries.clear();
  }
}
