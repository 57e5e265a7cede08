import { LRUCache } from 'lru-cache';
import { FairQueue } from '../../shared/async/fair-queue.js';

/** A version that a worker process loads once, and keeps. */
export interface Loaded {
  /** Each lane has worker processes of its own. */
  readonly lane: string;
  readonly organisationId: string;
  readonly model: { readonly id: string; readonly version: string };
  /** Drivers are compiled at the first record that asks for them. */
  readonly explain: boolean;
}

/** A worker process forgets models that are not used, so a version counts as cold again after this time. */
const warmMs = 5 * 60_000;
const maxWarm = 10_000;
/** Twice the chunks of an organisation that may wait; see `FairQueue`. */
const maxWaiting = 1_000;

/**
 * Lets one chunk of an organisation go to a lane while no chunk of its version has come back. A worker process takes up
 * to seconds to load a version and its drivers, and the chunk counts in the lane meanwhile. Without this limit a
 * few chunks of a new model would fill the lane, and the chunks of other organisations would wait.
 */
export class ColdVersions {
  private readonly warm = new LRUCache<string, true>({ max: maxWarm, ttl: warmMs });
  /** The chunks that wait, by lane and organisation. */
  private readonly queues = new Map<string, FairQueue>();

  /**
   * Sends a chunk: at once if its version is warm, else when no other cold chunk of the organisation is in flight.
   * @throws ApiError internalError when its turn does not come within `timeoutMs`; what `send` throws
   */
  async run<Result>(loaded: Loaded, timeoutMs: number, send: () => Promise<Result>): Promise<Result> {
    const { lane, organisationId, model, explain } = loaded;
    const key = `${lane}:${model.id}:${model.version}:${explain}`;
    const sendNow = async (): Promise<Result> => {
      const result = await send();
      this.warm.set(key, true);
      return result;
    };
    if (this.warm.has(key)) return await sendNow();
    const queueKey = `${lane}:${organisationId}`;
    const queue = this.queues.get(queueKey) ?? new FairQueue({ size: () => 1, maxWaiting });
    this.queues.set(queueKey, queue);
    const first = await queue
      // When the chunk before has made it warm, this one goes with the others that waited.
      .run(organisationId, timeoutMs, async () => (this.warm.has(key) ? undefined : { result: await sendNow() }))
      .finally(() => {
        if (queue.isIdle) this.queues.delete(queueKey);
      });
    return first === undefined ? await sendNow() : first.result;
  }
}
