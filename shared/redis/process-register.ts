import type { Lane } from '../contract/lanes.js';
import { ownLevel } from '../process/release.js';
import type { Redis } from './connect.js';
import { processesKey } from './keys.js';
import { type LuaCommand, luaCommand, stringsReply } from './lua-command.js';
import { type ProcessKind, processKinds, processNames } from './running-processes.js';

/** How often a process renews its note. */
export const noteEveryMs = 10_000;
/** Two notes may be lost. */
const maxAgeMs = 35_000;

/** Worker processes of one lane in a pool. */
interface WorkerCounts {
  readonly wanted: number;
  readonly ready: number;
}

/** The disk with the folder for temporary files. */
export interface DiskSpace {
  readonly path: string;
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** A running process's description of itself. */
export interface ProcessNote {
  readonly kind: ProcessKind;
  readonly release: string;
  /** See `ownLevel`. Earlier releases note none. */
  readonly level?: number;
  readonly host: string;
  readonly pid: number;
  /** Ms for which the process had run when it was noted. */
  readonly upMs: number;
  /** Settings that must agree, by variable; see config/agreeing-settings.ts. */
  readonly settings: Readonly<Record<string, string>>;
  /** By how much the machine's clock is ahead of Redis's; null before it was measured. */
  readonly clockAheadMs: number | null;
  /** Null where the system does not tell. */
  readonly disk: DiskSpace | null;
  /** Only a pool has these. */
  readonly workers?: Readonly<Record<Lane, WorkerCounts>>;
}

/** A note with its age. */
export interface NotedProcess extends ProcessNote {
  readonly notedMsAgo: number;
}

/** The notes of all running processes: one hash, one field a process, timed by Redis's clock. */
export class ProcessRegister {
  private readonly run: LuaCommand<string[]>;

  /** @param redis a connection for commands */
  constructor(private readonly redis: Redis) {
    this.run = luaCommand(redis, { file: 'shared/redis/lua/note-process.lua', reply: stringsReply });
  }

  /**
   * Notes a process, also on a full Redis.
   * @param id random, unique to the process
   * @throws the error of Redis
   */
  async note(id: string, note: ProcessNote): Promise<void> {
    await this.run({ keys: [processesKey], args: [id, JSON.stringify(note), maxAgeMs] });
  }

  /**
   * Removes a process that stops.
   * @throws the error of Redis
   */
  async remove(id: string): Promise<void> {
    await this.redis.hdel(processesKey, id);
  }

  /**
   * The processes that were noted within 35 s, by kind, the time for which they have run, machine and PID.
   * @throws the error of Redis
   */
  async list(): Promise<NotedProcess[]> {
    const [now, ...rest] = await this.run({ keys: [processesKey], args: ['', '', maxAgeMs] });
    const notes = rest.filter((_, index) => index % 2 === 1);
    return notes
      .map((note): NotedProcess => {
        const space = note.indexOf(' ');
        return { ...JSON.parse(note.slice(space)), notedMsAgo: Math.abs(Number(now) - Number(note.slice(0, space))) };
      })
      .sort(
        (one, other) =>
          processKinds.indexOf(one.kind) - processKinds.indexOf(other.kind) ||
          other.upMs - one.upMs ||
          one.host.localeCompare(other.host) ||
          one.pid - other.pid,
      );
  }
}

/** The processes of a lower level, by default than this release's, in words: `gateway web-1:210`. */
export const olderProcesses = (processes: readonly NotedProcess[], than = ownLevel): string[] =>
  processes
    .filter(({ level = 0 }) => level < than)
    .map(({ kind, host, pid }) => `${processNames[kind][0]} ${host}:${pid}`);
