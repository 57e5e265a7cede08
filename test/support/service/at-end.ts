const stops: (() => unknown)[] = [];

/** Stops what test files of this Mocha process share, the last started first. For the root hooks. */
export async function runAtEnd(): Promise<void> {
  for (const stop of stops.splice(0).reverse()) await stop();
}

/**
 * A part that test files of this Mocha process share: its first user starts it.
 * @param stop ends it after the last file
 */
export function sharedPart<Part>(
  start: () => Promise<Part>,
  stop: (part: Part) => Promise<unknown>,
): () => Promise<Part> {
  let starting: Promise<Part> | undefined;
  return () => {
    if (starting === undefined) {
      const started = start();
      starting = started;
      // The tests that asked for it have reported why it did not start.
      stops.push(() => started.then(stop, () => undefined));
    }
    return starting;
  };
}
