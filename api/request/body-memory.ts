import { ApiError } from '../../shared/contract/errors.js';

/** What of one body has arrived. */
export interface BodyAccount {
  /** @throws ApiError rateLimited when the organisation has too much under way; internalError when the gateway has */
  add(bytes: number): void;
  /** The body has arrived, or will not. */
  end(): void;
}

/** Bodies of the largest size that may be under way at once. */
const maxBodies = { ofOne: 8, ofAll: 32 } as const;

/**
 * Bounds the memory of bodies that have begun to arrive: a key may begin as many as its rate allows, and each may take half a
 * minute.
 */
export class BodyMemory {
  private readonly bytesOf = new Map<string, number>();
  private bytesOfAll = 0;

  constructor(private readonly limits: { readonly maxBodyBytes: number }) {}

  /** Begins to count a body of an organisation. */
  begin(organisationId: string): BodyAccount {
    let arrived = 0;
    const change = (bytes: number): void => {
      arrived += bytes;
      this.bytesOfAll += bytes;
      const ofOne = (this.bytesOf.get(organisationId) ?? 0) + bytes;
      if (ofOne === 0) this.bytesOf.delete(organisationId);
      else this.bytesOf.set(organisationId, ofOne);
    };
    return {
      add: (bytes) => {
        change(bytes);
        this.check(organisationId);
      },
      end: () => change(-arrived),
    };
  }

  private check(organisationId: string): void {
    const { maxBodyBytes } = this.limits;
    if ((this.bytesOf.get(organisationId) ?? 0) > maxBodies.ofOne * maxBodyBytes) {
      throw new ApiError(
        'rateLimited',
        `More than ${maxBodies.ofOne * maxBodyBytes} bytes of your calls are arriving at once: send fewer at the same time.`,
        { retryAfterSeconds: 1 },
      );
    }
    if (this.bytesOfAll > maxBodies.ofAll * maxBodyBytes) {
      const message = 'The gateway is receiving too much at once: retry shortly.';
      throw new ApiError('internalError', message, { retryAfterSeconds: 1 });
    }
  }
}
