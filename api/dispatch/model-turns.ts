/** A chunk that takes longer is slow, or lost with its worker, and no reason to wait any more. */
const longestHoldMs = 100;

/** How long a model's chunk holds the next one back. */
interface Hold {
  readonly over: Promise<void>;
  readonly end: () => void;
  isAwaited: boolean;
}

/**
 * Holds a model's next chunk of singles back until the one before it was answered. Whoever comes meanwhile joins the
 * chunk that waits, so chunks grow with the load, while a model that is called seldom waits for nothing: Nagle's
 * algorithm (RFC 896), with calls in place of characters. It ends where nothing is gained by it: after 100 ms, and when
 * more wait than one chunk can take.
 */
export class ModelTurns {
  private readonly holds = new Map<string, Hold>();

  /**
   * Runs `send` when the model's turn has come: at once when no chunk of it is under way, or one is held back already.
   * Gives what `send` gives, and throws what it throws.
   */
  async run<Result>(modelKey: string, send: () => Promise<Result>): Promise<Result> {
    const before = this.holds.get(modelKey);
    if (before !== undefined && !before.isAwaited) {
      before.isAwaited = true;
      await before.over;
    }
    const hold = this.begin(modelKey);
    try {
      return await send();
    } finally {
      hold.end();
    }
  }

  private begin(modelKey: string): Hold {
    let resolve: () => void = () => undefined;
    const over = new Promise<void>((resolveOver) => {
      resolve = resolveOver;
    });
    const end = () => {
      clearTimeout(timer);
      if (this.holds.get(modelKey) === hold) this.holds.delete(modelKey);
      resolve();
    };
    const timer = setTimeout(end, longestHoldMs);
    const hold: Hold = { over, end, isAwaited: false };
    this.holds.set(modelKey, hold);
    return hold;
  }
}
