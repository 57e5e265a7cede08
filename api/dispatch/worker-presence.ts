import { interactiveLanes, type Lane } from '../../shared/contract/lanes.js';

/** Without a process for this long, a lane's calls are refused at once and the gateway is not ready, ms. */
const defaultAbsentMs = 10_000;
/** A longer time between two reads is the gateway's own stall, in which it saw no process either way. */
const maxGapMs = 5_000;

interface Presence {
  wasSeen: boolean;
  /** Time from the first read without a process to the last; undefined while there is one. */
  absentMs: number | undefined;
}

export interface PresenceOptions {
  readonly maxAbsentMs?: number;
  readonly nowMs?: () => number;
}

/**
 * Whether singles and batches have worker processes. The lane `bulk` does not count: its processes exist on demand.
 * Only time between two successful reads of the register counts. After a failure of Redis all heartbeats are old.
 */
export class WorkerPresence {
  private readonly presences = new Map<Lane, Presence>(
    interactiveLanes.map((lane) => [lane, { wasSeen: false, absentMs: undefined }]),
  );
  private readonly maxAbsentMs: number;
  private readonly nowMs: () => number;
  private readMs: number | undefined;

  constructor(options: PresenceOptions = {}) {
    this.maxAbsentMs = options.maxAbsentMs ?? defaultAbsentMs;
    this.nowMs = options.nowMs ?? (() => performance.now());
  }

  /** Notes a read of the registers. */
  noteRead(hasProcess: (lane: Lane) => boolean): void {
    const nowMs = this.nowMs();
    const gapMs = Math.min(maxGapMs, nowMs - (this.readMs ?? nowMs));
    this.readMs = nowMs;
    for (const [lane, presence] of this.presences) {
      if (hasProcess(lane)) {
        presence.wasSeen = true;
        presence.absentMs = undefined;
      } else presence.absentMs = presence.absentMs === undefined ? 0 : presence.absentMs + gapMs;
    }
  }

  /** Notes that the registers could not be read. */
  noteFailure(): void {
    this.readMs = undefined;
  }

  /** Whether the last read found no process of singles, or of batches. */
  get isAnyAbsent(): boolean {
    return [...this.presences.values()].some(({ wasSeen, absentMs }) => !wasSeen || absentMs !== undefined);
  }

  /** Whether a lane has had no process for ten seconds. False for `bulk`. */
  isWithout(lane: Lane): boolean {
    return (this.presences.get(lane)?.absentMs ?? 0) >= this.maxAbsentMs;
  }

  /**
   * Why the gateway cannot have singles or batches scored; undefined when it can.
   * @param ignoresLost whether a lane is enough whose processes were seen once
   */
  problem(ignoresLost: boolean): string | undefined {
    const without = [...this.presences]
      .filter(([lane, { wasSeen }]) => !wasSeen || (!ignoresLost && this.isWithout(lane)))
      .map(([lane]) => lane);
    return without.length === 0 ? undefined : `no worker process of ${without.join(' and ')} is running`;
  }
}
