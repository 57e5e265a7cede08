export interface OrderedSending<Item, Result> {
  /** How many may be under way at once; asked again for each. */
  readonly concurrency: () => number;
  /** When aborted nothing more is sent; what is under way is awaited and kept. */
  readonly signal: AbortSignal;
  readonly send: (item: Item) => Promise<Result>;
  /** Takes the results one at a time, in the order of the items. */
  readonly keep: (result: Result) => Promise<void>;
}

/**
 * Sends items, several at once, and keeps their results in order. Whatever goes wrong, all results that stand before the
 * failure are kept, none behind it, and nothing is under way any more when this ends.
 * @returns false when it was told to stop before the last item
 * @throws what reading an item, sending or keeping fails with, the first
 */
export async function sendInOrder<Item, Result>(
  items: AsyncIterable<Item>,
  { concurrency, signal, send, keep }: OrderedSending<Item, Result>,
): Promise<boolean> {
  const underWay: Promise<Result>[] = [];
  const failures: unknown[] = [];
  let keeping = true;
  let allSent = false;
  const keepOldest = async (): Promise<void> => {
    try {
      const oldest = underWay.shift();
      if (oldest !== undefined) await keep(await oldest);
    } catch (error) {
      failures.push(error);
      keeping = false;
    }
  };
  try {
    for await (const item of items) {
      if (signal.aborted || !keeping) break;
      const sent = send(item);
      sent.catch(() => undefined); // it is awaited in its turn
      underWay.push(sent);
      while (keeping && underWay.length >= concurrency()) await keepOldest();
    }
    allSent = !signal.aborted;
  } catch (error) {
    failures.push(error);
  }
  while (keeping && underWay.length > 0) await keepOldest();
  await Promise.allSettled(underWay);
  if (failures.length === 0) return allSent;
  if (signal.aborted && isAbort(failures[0])) return false;
  throw failures[0];
}

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';
