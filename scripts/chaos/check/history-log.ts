import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { HistoryEvent } from './history.js';

const tickMs = 20;
/** Lateness of a timer that counts as a stall. Node's timers are always a little late. */
const minStallMs = 10;

/** Events of a run: in memory for the checks, and in a file for a reader when a check fails. */
export class HistoryLog {
  readonly events: HistoryEvent[] = [];
  private readonly beganMs = performance.now();
  private readonly watcher: NodeJS.Timeout;

  private constructor(private readonly file: WriteStream) {
    let lastMs = performance.now();
    this.watcher = setInterval(() => {
      const nowMs = performance.now();
      const lengthMs = nowMs - lastMs - tickMs;
      if (lengthMs > minStallMs) this.add({ kind: 'stall', atMs: this.at(lastMs), lengthMs });
      lastMs = nowMs;
    }, tickMs);
  }

  /**
   * Begins a history. Its times count from now.
   * @param path file of JSON lines. It is overwritten; its directory is created if missing
   */
  static async begin(path: string): Promise<HistoryLog> {
    await mkdir(dirname(path), { recursive: true });
    const file = createWriteStream(path);
    await once(file, 'open');
    return new HistoryLog(file);
  }

  /** Converts a time of `performance.now()` (default: now) to ms since the run began. */
  at(monotonicMs = performance.now()): number {
    return monotonicMs - this.beganMs;
  }

  add(event: HistoryEvent): void {
    this.events.push(event);
    this.file.write(`${JSON.stringify(event)}\n`);
  }

  /** Flushes the file. Idempotent. */
  async end(): Promise<void> {
    clearInterval(this.watcher);
    if (this.file.writableEnded) return;
    this.file.end();
    await once(this.file, 'close');
  }
}
