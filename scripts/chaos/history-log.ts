import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { HistoryEvent } from './history.js';

const tickMs = 20;
/** A timer that is this late was kept from running; less is what timers are late by. */
const leastStandstillMs = 10;

/** Collects what happens in a run: in memory, to be checked, and in a file, to be read when a check fails. */
export class HistoryLog {
  readonly events: HistoryEvent[] = [];
  private readonly beganMs = performance.now();
  private readonly watcher: NodeJS.Timeout;

  private constructor(private readonly file: WriteStream) {
    let lastMs = performance.now();
    this.watcher = setInterval(() => {
      const nowMs = performance.now();
      const lengthMs = nowMs - lastMs - tickMs;
      if (lengthMs > leastStandstillMs) this.add({ kind: 'standstill', atMs: this.at(lastMs), lengthMs });
      lastMs = nowMs;
    }, tickMs);
  }

  /**
   * Begins a history; its times count from now.
   * @param path a file of JSON lines, written anew; its directory is made when missing
   */
  static async begin(path: string): Promise<HistoryLog> {
    await mkdir(dirname(path), { recursive: true });
    const file = createWriteStream(path);
    await once(file, 'open');
    return new HistoryLog(file);
  }

  /** Ms since the run began, of a time in the terms of `performance.now()`; of now by default. */
  at(monotonicMs = performance.now()): number {
    return monotonicMs - this.beganMs;
  }

  add(event: HistoryEvent): void {
    this.events.push(event);
    this.file.write(`${JSON.stringify(event)}\n`);
  }

  /** Writes out what is left. Idempotent. */
  async end(): Promise<void> {
    clearInterval(this.watcher);
    if (this.file.writableEnded) return;
    this.file.end();
    await once(this.file, 'close');
  }
}
