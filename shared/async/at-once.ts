import { settledOrThrow } from './timeouts.js';

/**
 * Runs `work` for each item, at most `limit` at once. An item that fails does not keep the others from being done.
 * @throws an error of the iterable, after the work that has begun; else the first error of an item
 */
export async function eachAtOnce<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  limit: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const shared = (async function* () {
    yield* items;
  })();
  const failures: unknown[] = [];
  const workInTurn = async (): Promise<void> => {
    for (let next = await shared.next(); next.done !== true; next = await shared.next())
      await work(next.value).catch((error: unknown) => failures.push(error));
  };
  await settledOrThrow(Array.from({ length: limit }, workInTurn));
  if (failures.length > 0) throw failures[0];
}

/** Runs at most `max` works at once. The others wait in the order of arrival. */
export class Limit {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly max: number) {}

  /** @throws what `work` throws */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.running < this.max) this.running += 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.running -= 1;
      else next();
    }
  }
}
