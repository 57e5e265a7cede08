import { everyTick } from '../../shared/async/ticks.js';
import type { Stoppable } from '../../shared/process/lifecycle.js';
import type { Logger } from '../../shared/process/logger.js';
import type { Change } from '../../shared/redis/changes.js';
import type { ChangeLog } from '../../shared/store/connection/change-log.js';
import { maxStaleMs } from '../../shared/store/connection/followed-cache.js';

const readEveryMs = 2_000;
const readTimeoutMs = 2_000;

export interface ChangeFollowerOptions {
  readonly log: Pick<ChangeLog, 'since'>;
  readonly logger: Pick<Logger, 'warn'>;
  /** Runs for each change. */
  readonly onChange: (change: Change) => void;
  /** Runs when anything may have changed. */
  readonly onGap: () => void;
  readonly readEveryMs?: number;
}

/**
 * Follows the change log of MongoDB. While it does, caches may hold what they have read. They know of all changes that
 * are older than the last read.
 */
export class ChangeFollower implements Stoppable {
  readonly name = 'change log';
  private last: number | undefined;
  /** When the last successful read began, by `performance.now()`. */
  private readAtMs = Number.NEGATIVE_INFINITY;
  private reading: Promise<void> | undefined;
  private isReadWanted = false;
  private hasFailed = false;
  private endReads: (() => void) | undefined;

  constructor(private readonly options: ChangeFollowerOptions) {}

  /** Whether all changes are known that are older than `maxStaleMs`. */
  readonly isFollowing = (): boolean => performance.now() - this.readAtMs < maxStaleMs;

  /** Reads the log now and every two seconds. Resolves after the first attempt. */
  async start(): Promise<void> {
    await this.read();
    this.endReads = everyTick(this.options.readEveryMs ?? readEveryMs, () => void this.read());
  }

  /** Reads what is new in the log. A read that has begun before does not count. Never rejects. */
  read(): Promise<void> {
    this.isReadWanted = true;
    this.reading ??= this.readWhileWanted().finally(() => {
      this.reading = undefined;
    });
    return this.reading;
  }

  async stop(): Promise<void> {
    this.endReads?.();
    // The connection closes after this part, and a read that goes on then would warn of a fault that is none.
    await this.reading;
  }

  private async readWhileWanted(): Promise<void> {
    const { log, logger, onChange, onGap } = this.options;
    while (this.isReadWanted) {
      this.isReadWanted = false;
      const beganMs = performance.now();
      try {
        const { last, changes } = await log.since(this.last, readTimeoutMs);
        if (changes === undefined) onGap();
        else for (const change of changes) onChange(change);
        this.last = last;
        this.readAtMs = beganMs;
        this.hasFailed = false;
      } catch (error) {
        if (!this.hasFailed) logger.warn({ error }, 'change log not read: cached keys and models hold for 5 s at most');
        this.hasFailed = true;
      }
    }
  }
}
