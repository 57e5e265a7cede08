/**
 * Runs `work` and gives what it gives.
 * @param work is given a promise that resolves when it has ended, however it ends
 */
export async function untilEnded<Result>(work: (ended: Promise<void>) => Promise<Result>): Promise<Result> {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  try {
    return await work(ended);
  } finally {
    end();
  }
}
