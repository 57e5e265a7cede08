export interface BatcherOptions<Item, Result> {
  /**
   * Runs a batch. Items of one batch were added under one key; `first` tells what they have in common.
   * @returns one entry an item, in the same order. An entry that is an Error rejects its item alone
   */
  readonly run: (items: readonly Item[], first: Item) => Promise<readonly (Result | Error)[]>;
  /**
   * Whether items gather under load: a batch then leaves when as many items wait as are in flight, or `maxItems`.
   * Without it, every batch leaves at the end of its iteration.
   */
  readonly gathers?: boolean;
  /** Resolves at the end of an item's work outside the batcher; the item is in flight until then. */
  readonly endOf?: (item: Item) => Promise<void>;
  readonly maxItems?: number;
  /** Size of an item, where the sum of a batch's sizes is limited to 1. An item above 1 gets a batch of its own. */
  readonly sizeOf?: (item: Item) => number;
  /** Ms after which an item no longer counts as in flight: a slow batch must not delay the next. */
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
  /** Items that run or have not ended. */
  inFlight: number;
}

/** Enough for a busy gateway; bounds the arguments of one Lua command. */
const defaultMaxItems = 128;

/**
 * Runs items together that were added under the same key. Items never wait for a timer:
 *
 * 1. At the end of an iteration of the event loop, all items of the iteration leave as one batch, up to `maxItems`.
 * 2. With `gathers`, a batch waits until as many items of its key wait as are in flight.
 *
 * So a lone item leaves at once, and batches grow with the load until half of the items gather.
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
    const { gathers = false, maxItems = defaultMaxItems } = this.options;
    const isDue = () => !gathers || group.waiting.length >= Math.min(maxItems, group.inFlight);
    while (group.waiting.length > 0 && isDue()) this.start(group, this.takeBatch(group));
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
    const { endOf, maxHoldMs } = this.options;
    let counted = batch.length;
    group.inFlight += counted;
    const release = (count: number): void => {
      const released = Math.min(count, counted);
      counted -= released;
      group.inFlight -= released;
      if (counted === 0) clearTimeout(timer);
      this.flushSoon(group);
    };
    const timer = maxHoldMs === undefined ? undefined : setTimeout(() => release(counted), maxHoldMs);
    const done = this.run(batch);
    if (endOf === undefined) void done.then(() => release(batch.length));
    else for (const { item } of batch) void endOf(item).then(() => release(1));
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
