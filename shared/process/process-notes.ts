import { randomUUID } from 'node:crypto';
import { statfs } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { type Repeated, repeatEvery } from '../async/repeat.js';
import { settingsToCompare } from '../config/agreeing-settings.js';
import type { WorkerConfig } from '../config/config.js';
import type { Redis } from '../redis/connect.js';
import { type DiskSpace, noteEveryMs, type ProcessNote, ProcessRegister } from '../redis/process-register.js';
import type { ProcessKind } from '../redis/running-processes.js';
import type { ClockWatch } from './clock-watch.js';
import type { Stoppable } from './lifecycle.js';
import { ownLevel, ownRelease } from './release.js';

export interface ProcessNotesOptions {
  readonly kind: ProcessKind;
  /** A connection for commands. */
  readonly redis: Redis;
  readonly config: WorkerConfig;
  readonly clock: Pick<ClockWatch, 'aheadMs'>;
  /** For a pool. */
  readonly workers?: () => NonNullable<ProcessNote['workers']>;
}

const retryMs = 1_000;

/** Notes this process in Redis, now and every ten seconds, for `leadscore status` and `leadscore doctor`. */
export class ProcessNotes implements Stoppable {
  readonly name = 'process notes';
  private readonly id = randomUUID();
  private readonly register: ProcessRegister;
  private readonly noting: Repeated;

  constructor({ kind, redis, config, clock, workers }: ProcessNotesOptions) {
    this.register = new ProcessRegister(redis);
    const own = { kind, release: ownRelease(), level: ownLevel, host: hostname(), pid: process.pid };
    const settings = settingsToCompare(kind, config);
    const note = async (): Promise<void> => {
      const disk = await diskSpace(tmpdir());
      const now = { upMs: Math.round(1000 * process.uptime()), clockAheadMs: clock.aheadMs ?? null, disk };
      await this.register.note(this.id, { ...own, ...now, settings, ...(workers && { workers: workers() }) });
    };
    let dueMs = 0;
    const noteWhenDue = async (): Promise<void> => {
      if (performance.now() < dueMs) return;
      await note();
      // Ticks come a little early or late.
      dueMs = performance.now() + noteEveryMs - retryMs / 2;
    };
    // The connection may not be ready yet. RedisHealth reports a Redis that is away.
    this.noting = repeatEvery(retryMs, () => noteWhenDue().catch(() => undefined));
  }

  async stop(): Promise<void> {
    await this.noting.stop();
    await this.register.remove(this.id).catch(() => undefined);
  }
}

async function diskSpace(path: string): Promise<DiskSpace | null> {
  try {
    const { bavail, blocks, bsize } = await statfs(path);
    return { path, freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch {
    return null;
  }
}
