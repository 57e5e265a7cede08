export interface BatcherOptions<Item, Result> {
  /**
   * Runs a batch. Items of one batch were added under one key; `first` tells what they have in common.
   * @returns one entry an item, in the same order. An entry that is an Error rejects its item alone
   */
  readonly run: (items: readonly Item[], first: Item) => Promise<readonly (Result | Error)[]>;
  /** Batches of one key that run at once; while so many run, items gather. No limit when left out. */
  readonly maxInFlight?: number;
  readonly maxItems?: number;
  /** Size of an item, where the sum of a batch's sizes is limited to 1. An item above 1 gets a batch of its own. */
  readonly sizeOf?: (item: Item) => number;
  /** Ms after which a batch that still runs no longer counts as in flight: a slow batch must not delay the next. */
  readonly maxHoldMs?: number;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

interface Group<Item, Result> {
  readonly key: string;
  waiting: Waiting<Item, Result>[];
  inFlight: number;
}

/** Enough for a busy gateway; bounds the arguments of one Lua command. */
const defaultMaxItems = 128;

/**
 * Runs items together that were added under the same key. Items never wait for a timer:
 *
 * 1. At the end of a turn of the event loop, all items of the turn leave as one batch, up to `maxItems`.
 * 2. While `maxInFlight` batches of the key run, items gather. They leave when one of these batches ends.
 *
 * So a lone item leaves at once, and batches grow with the load.
 */
export class Batcher<Item, Result> {
  private readonly groups = new Map<string, Group<Item, Result>>();
  private readonly dirty = new Set<Group<Item, Result>>();

  constructor(private readonly options: BatcherOptions<Item, Result>) {}

  /**
   * Adds an item to the next batch of its key.
   * @throws the item's own Error, or the error that failed its whole batch; TypeError for a wrong number of results
   */
  add(key: string, item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      let group = this.groups.get(key);
      if (group === undefined) {
        group = { key, waiting: [], inFlight: 0 };
        this.groups.set(key, group);
      }
      group.waiting.push({ item, resolve, reject });
      this.flushSoon(group);
    });
  }

  /** Marks a group. One immediate serves all groups, so that their commands share one write to Redis. */
  private flushSoon(group: Group<Item, Result>): void {
    if (this.dirty.size === 0) {
      setImmediate(() => {
        const groups = [...this.dirty];
        this.dirty.clear();
        for (const each of groups) this.flush(each);
      });
    }
    this.dirty.add(group);
  }

  private flush(group: Group<Item, Result>): void {
    const { maxInFlight = Number.POSITIVE_INFINITY } = this.options;
    while (group.waiting.length > 0 && group.inFlight < maxInFlight) this.start(group, this.takeBatch(group));
    if (group.waiting.length === 0 && group.inFlight === 0) this.groups.delete(group.key);
  }

  private takeBatch(group: Group<Item, Result>): Waiting<Item, Result>[] {
    const { maxItems = defaultMaxItems, sizeOf } = this.options;
    let count = Math.min(maxItems, group.waiting.length);
    if (sizeOf !== undefined) {
      let size = 0;
      const limit = count;
      for (count = 0; count < limit; count += 1) {
        const next = group.waiting[count];
        size += next === undefined ? 0 : sizeOf(next.item);
        if (count > 0 && size > 1) break;
      }
    }
    const batch = group.waiting.slice(0, count);
    group.waiting = group.waiting.slice(count);
    return batch;
  }

  private start(group: Group<Item, Result>, batch: readonly Waiting<Item, Result>[]): void {
    const { maxHoldMs } = this.options;
    group.inFlight += 1;
    let isCounted = true;
    const release = (): void => {
      if (!isCounted) return;
      isCounted = false;
      clearTimeout(timer);
      group.inFlight -= 1;
      this.flushSoon(group);
    };
    const timer = maxHoldMs === undefined ? undefined : setTimeout(release, maxHoldMs);
    void this.run(batch).finally(release);
  }

  private async run(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    const items = batch.map(({ item }) => item);
    try {
      const results = await this.options.run(items, items[0] as Item);
      if (results.length !== batch.length)
        throw new TypeError(`a batch of ${batch.length} items got ${results.length} results`);
      for (const [index, { resolve, reject }] of batch.entries()) {
        const result = results[index] as Result | Error;
        if (result instanceof Error) reject(result);
        else resolve(result);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
