import type { OutgoingPart, PartReply } from '../../shared/score-job.js';
import type { AdmittedModel } from '../admission.js';

/** Longest that a single waits for company. */
const gatherMs = 2;
const mostRecords = 32;

/** Where a chunk is to be scored, and with what. */
export interface ChunkTarget {
  readonly organisationId: string;
  readonly model: AdmittedModel;
}

type SendChunk = (
  target: ChunkTarget,
  parts: readonly OutgoingPart[],
  timeoutMs: number,
) => Promise<readonly PartReply[]>;

interface Waiting {
  readonly part: OutgoingPart;
  readonly timeoutMs: number;
  readonly resolve: (reply: PartReply) => void;
  readonly reject: (error: unknown) => void;
}

interface Gathering {
  readonly target: ChunkTarget;
  readonly waiting: Waiting[];
  timer: NodeJS.Timeout | undefined;
  inFlight: number;
}

/**
 * Gathers single records for one model into chunks: a chunk costs the queue and the workers about the same whether it
 * holds one record or thirty-two. A single that finds nothing under way is sent at once; later ones wait until thirty-two
 * have come, or two milliseconds, whichever is sooner. Each keeps its own part, deadline and answer.
 */
export class SingleCoalescer {
  private readonly gatherings = new Map<string, Gathering>();

  constructor(private readonly send: SendChunk) {}

  /** Scores one record together with whatever else comes along. Rejects with what sending the chunk rejects with. */
  score(target: ChunkTarget, part: OutgoingPart, timeoutMs: number): Promise<PartReply> {
    const key = `${target.model.id}:${target.model.version}:${target.model.otherModelIds.length}`;
    let gathering = this.gatherings.get(key);
    if (gathering === undefined) {
      gathering = { target, waiting: [], timer: undefined, inFlight: 0 };
      this.gatherings.set(key, gathering);
    }
    return this.join(key, gathering, { part, timeoutMs });
  }

  private join(
    key: string,
    gathering: Gathering,
    single: { part: OutgoingPart; timeoutMs: number },
  ): Promise<PartReply> {
    return new Promise((resolve, reject) => {
      gathering.waiting.push({ ...single, resolve, reject });
      if (gathering.inFlight === 0 || gathering.waiting.length >= mostRecords) this.flush(key, gathering);
      else gathering.timer ??= setTimeout(() => this.flush(key, gathering), gatherMs);
    });
  }

  private flush(key: string, gathering: Gathering): void {
    clearTimeout(gathering.timer);
    gathering.timer = undefined;
    const singles = gathering.waiting.splice(0, mostRecords);
    if (singles.length === 0) return;
    gathering.inFlight += 1;
    const timeoutMs = Math.max(...singles.map((single) => single.timeoutMs));
    this.send(
      gathering.target,
      singles.map((single) => single.part),
      timeoutMs,
    )
      .then(
        (replies) => answer(singles, replies),
        (error: unknown) => fail(singles, error),
      )
      .finally(() => {
        gathering.inFlight -= 1;
        if (gathering.inFlight === 0 && gathering.waiting.length === 0) this.gatherings.delete(key);
      });
  }
}

function answer(singles: readonly Waiting[], replies: readonly PartReply[]): void {
  for (const [index, single] of singles.entries()) {
    const reply = replies[index];
    if (reply === undefined) single.reject(new Error('a chunk came back without one of its parts'));
    else single.resolve(reply);
  }
}

function fail(singles: readonly Waiting[], error: unknown): void {
  for (const single of singles) single.reject(error);
}
