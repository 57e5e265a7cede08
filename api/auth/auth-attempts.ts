import { ApiError } from '../../shared/contract/errors.js';
import { FairQueue } from '../dispatch/fair-queue.js';
import { type Addressed, type CallerAddress, networkOf } from './client-ip.js';

/** Different unknown keys that an address may try at once, and after that in a minute. */
export const unknownKeysAllowed = 30;
const refillMs = 60_000 / unknownKeysAllowed;
/** Addresses that are remembered; some 300 bytes each. */
const rememberedAddresses = 10_000;
/** Look-ups for addresses over their limit: so many at once, and so many that wait for their turn. */
const lookUpsAtOnce = 4;
const lookUpsWaiting = 256;
const maxWaitMs = 3_000;

export interface AuthAttemptsOptions {
  readonly addressOf: CallerAddress;
  /** Monotonic ms. */
  readonly nowMs?: () => number;
}

/** What an address may still try: a bucket that fills again by one every two seconds. */
interface Bucket {
  readonly left: number;
  readonly atMs: number;
  /** Hash of the unknown key that came last: whoever goes on sending the same one is no guesser. */
  readonly lastHash: string;
}

/**
 * Limits how many keys that nobody has an address may try. A key that is known passes whatever else comes from its
 * address, as behind a NAT with one bad caller in it:
 * 1. an address over its limit is told so, with when to come back, in place of what was wrong with its key;
 * 2. its keys are still looked up, but few at once, in turn with other such addresses: the database is not its to flood;
 * 3. the unknown key that came last from an address, sent again, counts nothing and is told what is wrong with it, as a
 *    service that was set up badly must be; it too is looked up in turn.
 * It holds for one gateway, in its memory, which is bounded.
 */
export class AuthAttempts {
  private readonly buckets = new Map<string, Bucket>();
  private readonly lookUps = new FairQueue({ size: () => lookUpsAtOnce, maxWaiting: lookUpsWaiting });
  private readonly nowMs: () => number;

  constructor(private readonly options: AuthAttemptsOptions) {
    this.nowMs = options.nowMs ?? (() => performance.now());
  }

  /** Addresses that are remembered. */
  get size(): number {
    return this.buckets.size;
  }

  /**
   * Looks a key up, behind others if its address is over its limit, or if it was unknown when it last came from there.
   * @param hash of the key
   * @throws ApiError rateLimited when too many wait already; what `lookUp` throws
   */
  async inTurn<Result>(request: Addressed, hash: string, lookUp: () => Promise<Result>): Promise<Result> {
    const address = networkOf(this.options.addressOf(request));
    if (this.leftOf(address) >= 1 && !this.isLast(address, hash)) return await lookUp();
    let hasBegun = false;
    try {
      return await this.lookUps.run(address, maxWaitMs, () => {
        hasBegun = true;
        return lookUp();
      });
    } catch (error) {
      throw hasBegun ? error : this.tooMany(address);
    }
  }

  /**
   * Notes that a request came with an unknown key. Gives what to refuse it with: `otherwise`, unless it is another one than
   * came last from its address and that is over the limit.
   */
  refusalOf(request: Addressed, hash: string, otherwise: ApiError): ApiError {
    const address = networkOf(this.options.addressOf(request));
    const left = this.leftOf(address);
    const isAgain = this.isLast(address, hash);
    this.buckets.delete(address);
    const stays = isAgain ? left : Math.max(0, left - 1);
    this.buckets.set(address, { left: stays, atMs: this.nowMs(), lastHash: hash });
    if (this.buckets.size > rememberedAddresses) this.forgetOldest();
    return isAgain || left >= 1 ? otherwise : this.tooMany(address);
  }

  private isLast(address: string, hash: string): boolean {
    return this.buckets.get(address)?.lastHash === hash;
  }

  private leftOf(address: string): number {
    const bucket = this.buckets.get(address);
    if (bucket === undefined) return unknownKeysAllowed;
    return Math.min(unknownKeysAllowed, bucket.left + (this.nowMs() - bucket.atMs) / refillMs);
  }

  private tooMany(address: string): ApiError {
    const waitMs = (1 - this.leftOf(address)) * refillMs;
    return new ApiError('rateLimited', 'Too many calls with unknown API keys came from this address.', {
      retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
    });
  }

  /** The one that tried longest ago: its bucket is the fullest, as a rule. */
  private forgetOldest(): void {
    const [oldest] = this.buckets.keys();
    if (oldest !== undefined) this.buckets.delete(oldest);
  }
}
