import { setTimeout as pause } from 'node:timers/promises';

/** Windows are so much longer here than on the server: calls do not all travel equally fast, and a refusal costs a second. */
const marginMs = 80;

/**
 * Keeps calls below the key's rate instead of running into it.
 * 1. Learns the rate from the RateLimit-Policy header of any reply.
 * 2. Lets at most so many calls begin in any window.
 * 3. After a refusal, lets none begin until the server says that one would pass.
 */
export class CallPace {
  private policy: { readonly calls: number; readonly windowMs: number } | undefined;
  private begun: number[] = [];
  private notBeforeMs = 0;

  /** @param now milliseconds on any steady clock */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Reads the key's rate, such as `"key";q=10;w=1`, from a reply's header. Anything else changes nothing. */
  learn(header: string | string[] | undefined): void {
    const found = typeof header === 'string' ? /;\s*q=(\d+)\s*;\s*w=(\d+)/.exec(header) : null;
    const calls = Number(found?.[1]);
    const seconds = Number(found?.[2]);
    if (calls > 0 && seconds > 0) this.policy = { calls, windowMs: 1000 * seconds + marginMs };
  }

  /** Lets no call begin for so long. */
  holdFor(durationMs: number): void {
    this.notBeforeMs = Math.max(this.notBeforeMs, this.now() + durationMs);
  }

  /** Resolves when a call may begin, and counts it. Fails when the signal is aborted before. */
  async turn(signal?: AbortSignal): Promise<void> {
    for (;;) {
      const waitMs = this.waitMs();
      if (waitMs <= 0) break;
      await pause(Math.ceil(waitMs), undefined, signal === undefined ? {} : { signal });
    }
    this.begun.push(this.now());
  }

  /** How long until a call may begin, in ms; 0 or less: now. */
  waitMs(): number {
    const nowMs = this.now();
    const held = this.notBeforeMs - nowMs;
    const { policy } = this;
    if (policy === undefined) return held;
    this.begun = this.begun.filter((atMs) => atMs > nowMs - policy.windowMs);
    const oldestInTheWay = this.begun.at(-policy.calls);
    return oldestInTheWay === undefined ? held : Math.max(held, oldestInTheWay + policy.windowMs - nowMs);
  }
}
