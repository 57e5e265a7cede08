/** Nobody waits for a chunk any more: its callers were answered otherwise, or have gone. */
export class ChunkAbandoned extends Error {
  override name = 'NobodyWaits';
}

/** Most chunks take a fraction of it, and are never asked about. */
const lookEveryMs = 1_000;

/**
 * Does work that is in vain once nobody waits for it.
 * @param isAwaited whether somebody does; asked every second. When it cannot be told, somebody does
 * @param work heeds its signal as soon as it can, and throws the signal's reason, a ChunkAbandoned
 */
export async function untilAbandoned<Result>(
  isAwaited: () => Promise<boolean>,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const abandoned = new AbortController();
  const look = async (): Promise<void> => {
    if (!(await isAwaited().catch(() => true)))
      abandoned.abort(new ChunkAbandoned('nobody waits for the chunk'));
  };
  const looking = setInterval(() => void look(), lookEveryMs);
  try {
    return await work(abandoned.signal);
  } finally {
    clearInterval(looking);
  }
}
