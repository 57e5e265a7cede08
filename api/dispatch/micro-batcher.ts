import type { OutgoingPart, PartReply } from '../../shared/messages/score-job.js';
import type { AdmittedModel } from '../scoring/admission.js';

const maxRecords = 32;
/** A call that takes longer is slow, or its worker has gone, and no reason to wait any more. */
const maxHoldMs = 100;
/** Models that are remembered; beyond it the idle ones are forgotten. */
const maxGatherings = 1_000;

/** Where a chunk is to be scored, and with what. */
export interface ChunkTarget {
  readonly organisationId: string;
  readonly model: AdmittedModel;
}

export interface MicroBatcherOptions {
  /** Runs `send` when a chunk of the organisation may go into the lane; rejects when that takes `timeoutMs`. */
  readonly inTurn: (target: ChunkTarget, timeoutMs: number, send: () => Promise<void>) => Promise<void>;
  /** Sends a chunk; gives the replies to its parts, in their order. */
  readonly send: (
    target: ChunkTarget,
    parts: readonly OutgoingPart[],
    timeoutMs: number,
  ) => Promise<readonly PartReply[]>;
}

interface Single {
  readonly part: OutgoingPart;
  /** In the terms of `performance.now()`. */
  readonly endMs: number;
  readonly ended: Promise<void>;
  readonly resolve: (reply: PartReply) => void;
  readonly reject: (error: unknown) => void;
}

/** The singles for one version of a model. */
interface Gathering {
  readonly target: ChunkTarget;
  /** Those that have not been sent. */
  readonly waiting: Single[];
  /** Turns that have been asked for and have not come. */
  turnsAsked: number;
  /** Calls that have been sent and have not ended, but for the slow ones. */
  underWay: number;
  isLooking: boolean;
}

/**
 * Gathers single records for one model into chunks: a chunk, and the commit of its calls, cost about the same whether it
 * holds one record or thirty-two. A chunk leaves as soon as as many calls wait as are under way, or thirty-two: so a single
 * that comes alone is sent at once, and chunks grow with the load until half of the calls gather while the other half are
 * scored and recorded. While a chunk waits for its turn in the lane, it takes on whoever comes meanwhile. Each single
 * keeps its own part, deadline and answer.
 */
export class MicroBatcher {
  private readonly gatherings = new Map<string, Gathering>();

  constructor(private readonly options: MicroBatcherOptions) {}

  /**
   * Scores one record together with whatever else comes along. Rejects with what sending its chunk rejects with.
   * @param call `ended` resolves when nothing more is to be done for the call, however it ends
   */
  score(
    target: ChunkTarget,
    part: OutgoingPart,
    call: { readonly timeoutMs: number; readonly ended: Promise<void> },
  ): Promise<PartReply> {
    const gathering = this.gatheringFor(target);
    const endMs = performance.now() + call.timeoutMs;
    return new Promise((resolve, reject) => {
      gathering.waiting.push({ part, endMs, ended: call.ended, resolve, reject });
      this.look(gathering);
    });
  }

  private gatheringFor(target: ChunkTarget): Gathering {
    const { id, version, otherModelIds } = target.model;
    // Models are never removed, not even deleted ones: as many of them are the same ones.
    const key = `${id}:${version}:${otherModelIds.length}`;
    const known = this.gatherings.get(key);
    if (known !== undefined) return known;
    const gathering: Gathering = { target, waiting: [], turnsAsked: 0, underWay: 0, isLooking: false };
    this.gatherings.set(key, gathering);
    if (this.gatherings.size > maxGatherings) this.dropIdle();
    return gathering;
  }

  /** Sees, when the events of this turn of the loop have been handled, whether a chunk may leave. */
  private look(gathering: Gathering): void {
    if (gathering.isLooking) return;
    gathering.isLooking = true;
    setImmediate(() => {
      gathering.isLooking = false;
      while (mayLeave(gathering)) this.askForTurn(gathering);
    });
  }

  private askForTurn(gathering: Gathering): void {
    const lastEndMs = Math.max(...gathering.waiting.map((single) => single.endMs));
    let hasCome = false;
    gathering.turnsAsked += 1;
    this.options
      .inTurn(gathering.target, Math.max(1, lastEndMs - performance.now()), () => {
        hasCome = true;
        gathering.turnsAsked -= 1;
        return this.sendNext(gathering);
      })
      .catch((error: unknown) => {
        if (!hasCome) gathering.turnsAsked -= 1;
        for (const single of gathering.waiting.splice(0)) single.reject(error);
      });
  }

  private async sendNext(gathering: Gathering): Promise<void> {
    const { target, waiting } = gathering;
    const nowMs = performance.now();
    const singles = waiting.splice(0, maxRecords).filter((single) => single.endMs > nowMs || expire(single));
    this.look(gathering);
    if (singles.length === 0) return;
    this.follow(gathering, singles);
    const timeoutMs = Math.max(...singles.map((single) => single.endMs)) - nowMs;
    try {
      const parts = singles.map((single) => single.part);
      answer(singles, await this.options.send(target, parts, Math.ceil(timeoutMs)));
    } catch (error) {
      for (const single of singles) single.reject(error);
    }
  }

  /** Counts the calls of a chunk as under way until each has ended, or they have taken too long. */
  private follow(gathering: Gathering, singles: readonly Single[]): void {
    let left = singles.length;
    const endOf = (count: number) => {
      left -= count;
      gathering.underWay -= count;
      if (left === 0) clearTimeout(timer);
      this.look(gathering);
    };
    const timer = setTimeout(() => endOf(left), maxHoldMs);
    gathering.underWay += left;
    for (const { ended } of singles) void ended.then(() => endOf(Math.min(1, left)));
  }

  private dropIdle(): void {
    for (const [key, { waiting, turnsAsked, underWay }] of this.gatherings) {
      if (waiting.length + turnsAsked + underWay === 0) this.gatherings.delete(key);
    }
  }
}

function mayLeave({ waiting, turnsAsked, underWay }: Gathering): boolean {
  const asked = maxRecords * turnsAsked;
  const gathered = waiting.length - asked;
  return gathered > 0 && gathered >= Math.min(maxRecords, asked + underWay);
}

/** Nobody waits for this one any more. */
function expire(single: Single): false {
  single.reject(new Error('the record waited for its turn until its time was over'));
  return false;
}

function answer(singles: readonly Single[], replies: readonly PartReply[]): void {
  for (const [index, single] of singles.entries()) {
    const reply = replies[index];
    if (reply === undefined) single.reject(new Error('a chunk came back without one of its parts'));
    else single.resolve(reply);
  }
}
