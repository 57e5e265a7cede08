import { ApiError } from '../../shared/contract/errors.js';

/** The account of one body that is arriving. */
export interface BodyAccount {
  /**
   * @throws ApiError rateLimited if too many bytes of the organisation are arriving; internalError if of the gateway
   */
  add(bytes: number): void;
  /** Releases the bytes of this body, which has arrived or was given up. */
  end(): void;
}

/** Limits on bytes that are arriving, in bodies of the maximum size: for one organisation, and for the gateway. */
const maxBodies = { perOrganisation: 8, inTotal: 32 } as const;

/**
 * Bounds the memory of bodies that are arriving. The rate limit alone does not bound it, because each body may take
 * half a minute.
 */
export class BodyMemory {
  private readonly bytesOf = new Map<string, number>();
  private totalBytes = 0;

  constructor(private readonly limits: { readonly maxBodyBytes: number }) {}

  /** Opens the account of a body. */
  begin(organisationId: string): BodyAccount {
    let arrived = 0;
    const change = (bytes: number): void => {
      arrived += bytes;
      this.totalBytes += bytes;
      const bytesOfOne = (this.bytesOf.get(organisationId) ?? 0) + bytes;
      if (bytesOfOne === 0) this.bytesOf.delete(organisationId);
      else this.bytesOf.set(organisationId, bytesOfOne);
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
    if ((this.bytesOf.get(organisationId) ?? 0) > maxBodies.perOrganisation * maxBodyBytes) {
      throw new ApiError(
        'rateLimited',
        `More than ${maxBodies.perOrganisation * maxBodyBytes} bytes of your calls are arriving at once: ` +
          'send fewer calls at the same time.',
        { retryAfterSeconds: 1 },
      );
    }
    if (this.totalBytes > maxBodies.inTotal * maxBodyBytes) {
      const message = 'The gateway is receiving too many bytes at once: retry shortly.';
      throw new ApiError('internalError', message, { retryAfterSeconds: 1 });
    }
  }
}
