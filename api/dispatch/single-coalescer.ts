import type { OutgoingPart, PartReply } from '../../shared/score-job.js';
import type { AdmittedModel } from '../admission.js';

/** Longest that a single waits for company before it asks for its turn. */
const gatherMs = 2;
const mostRecords = 32;
/** Models that are remembered; beyond it the idle ones are forgotten. */
const mostGatherings = 1_000;

/** Where a chunk is to be scored, and with what. */
export interface ChunkTarget {
  readonly organisationId: string;
  readonly model: AdmittedModel;
}

export interface CoalescerOptions {
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
  readonly resolve: (reply: PartReply) => void;
  readonly reject: (error: unknown) => void;
}

/** The singles for one version of a model that have not been sent yet. */
interface Gathering {
  readonly target: ChunkTarget;
  readonly waiting: Single[];
  timer: NodeJS.Timeout | undefined;
  /** Turns that have been asked for and have not come. */
  turnsAsked: number;
  lastArrivalMs: number;
}

/**
 * Gathers single records for one model into chunks: a chunk costs the queue and the workers about the same whether it
 * holds one record or thirty-two. A single that comes alone is sent at once; others wait for company until thirty-two
 * have come, or two milliseconds. While a chunk waits for its turn (its model's, and in the lane), it takes on whoever comes meanwhile, so
 * chunks grow with the load. Each single keeps its own part, deadline and answer.
 */
export class SingleCoalescer {
  private readonly gatherings = new Map<string, Gathering>();

  constructor(private readonly options: CoalescerOptions) {}

  /** Scores one record together with whatever else comes along. Rejects with what sending its chunk rejects with. */
  score(target: ChunkTarget, part: OutgoingPart, timeoutMs: number): Promise<PartReply> {
    const gathering = this.gatheringFor(target);
    const nowMs = performance.now();
    const isAlone = gathering.waiting.length === 0 && nowMs - gathering.lastArrivalMs > gatherMs;
    gathering.lastArrivalMs = nowMs;
    return new Promise((resolve, reject) => {
      gathering.waiting.push({ part, endMs: nowMs + timeoutMs, resolve, reject });
      if (gathering.waiting.length <= mostRecords * gathering.turnsAsked) return;
      if (isAlone || gathering.waiting.length >= mostRecords * (gathering.turnsAsked + 1))
        this.askForTurn(gathering);
      else gathering.timer ??= setTimeout(() => this.askForTurn(gathering), gatherMs);
    });
  }

  private gatheringFor(target: ChunkTarget): Gathering {
    const { id, version, otherModelIds } = target.model;
    const key = `${id}:${version}:${otherModelIds.length}`;
    const known = this.gatherings.get(key);
    if (known !== undefined) return known;
    const gathering: Gathering = {
      target,
      waiting: [],
      timer: undefined,
      turnsAsked: 0,
      lastArrivalMs: Number.NEGATIVE_INFINITY,
    };
    this.gatherings.set(key, gathering);
    if (this.gatherings.size > mostGatherings) this.dropIdle();
    return gathering;
  }

  private askForTurn(gathering: Gathering): void {
    clearTimeout(gathering.timer);
    gathering.timer = undefined;
    const lastEndMs = Math.max(0, ...gathering.waiting.map((single) => single.endMs));
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
    const singles = waiting.splice(0, mostRecords).filter((single) => single.endMs > nowMs || expire(single));
    if (waiting.length > mostRecords * gathering.turnsAsked) {
      gathering.timer ??= setTimeout(() => this.askForTurn(gathering), gatherMs);
    }
    if (singles.length === 0) return;
    const timeoutMs = Math.max(...singles.map((single) => single.endMs)) - nowMs;
    try {
      const parts = singles.map((single) => single.part);
      answer(singles, await this.options.send(target, parts, Math.ceil(timeoutMs)));
    } catch (error) {
      for (const single of singles) single.reject(error);
    }
  }

  private dropIdle(): void {
    for (const [key, gathering] of this.gatherings) {
      if (gathering.waiting.length === 0 && gathering.turnsAsked === 0) this.gatherings.delete(key);
    }
  }
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
