/**
 * Reads the first of some items at once, and then gives them all.
 * @throws what stands in the way of the first
 */
export async function beginReading<Item>(items: AsyncGenerator<Item>): Promise<AsyncGenerator<Item>> {
  const first = await items.next();
  return (async function* () {
    try {
      if (first.done === true) return;
      yield first.value;
      yield* items;
    } finally {
      await items.return(undefined);
    }
  })();
}
