export interface OrderedSending<Item, Result> {
  /** Maximum items in flight, read before each send. */
  readonly concurrency: () => number;
  /** After an abort no more items are sent; results of items in flight are still kept. */
  readonly signal: AbortSignal;
  readonly send: (item: Item) => Promise<Result>;
  /** Receives the results one at a time, in the order of the items. */
  readonly keep: (result: Result) => Promise<void>;
}

/**
 * Sends items concurrently and keeps their results in order. On a failure, only the results before the failed item are
 * passed to `keep`; `send` must store the later ones itself. No item is in flight when the function returns.
 * @returns false when stopped before the last item
 * @throws the first error of reading, sending or keeping
 */
export async function sendInOrder<Item, Result>(
  items: AsyncIterable<Item>,
  { concurrency, signal, send, keep }: OrderedSending<Item, Result>,
): Promise<boolean> {
  const inFlight: Promise<Result>[] = [];
  const failures: unknown[] = [];
  let keeping = true;
  let allSent = false;
  const keepOldest = async (): Promise<void> => {
    try {
      const oldest = inFlight.shift();
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
      sent.catch(() => undefined); // keepOldest handles the rejection later
      inFlight.push(sent);
      while (keeping && inFlight.length >= concurrency()) await keepOldest();
    }
    allSent = !signal.aborted;
  } catch (error) {
    failures.push(error);
  }
  while (keeping && inFlight.length > 0) await keepOldest();
  await Promise.allSettled(inFlight);
  if (failures.length === 0) return allSent;
  if (signal.aborted && isAbort(failures[0])) return false;
  throw failures[0];
}

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';
