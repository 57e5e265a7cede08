import { ApiError } from '../../../shared/contract/errors.js';

export interface TransferLimits {
  /** Names the transfers in messages: `uploads`. */
  readonly name: string;
  readonly inTotal: number;
  readonly perOrganisation: number;
  /** A transfer of fewer bytes in one window gives way to another one, but not to one of the same organisation. */
  readonly minBytesInWindow: number;
  readonly windowMs: number;
}

/** The permit of one transfer. */
export interface TransferPermit {
  /** Aborted when the transfer has to give way. */
  readonly signal: AbortSignal;
  /** Counts bytes that were transferred. */
  moved(bytes: number): void;
  free(): void;
}

interface Transfer {
  readonly organisationId: string;
  readonly controller: AbortController;
  /** Begin of the current window, by `performance.now()`. */
  windowStartMs: number;
  bytes: number;
  /** Whether the last whole window brought too few bytes. */
  isSlow: boolean;
}

const retryAfterSeconds = 5;

/**
 * The long transfers that a gateway has at once. Each may take hours, so callers that trickle bytes could take all
 * permits: a slow one gives way when another organisation needs a permit.
 */
export class TransferPermits {
  private readonly transfers = new Set<Transfer>();

  constructor(
    private readonly limits: TransferLimits,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  /** @throws ApiError jobLimitExceeded if no permit is free */
  take(organisationId: string): TransferPermit {
    const { inTotal, perOrganisation, name } = this.limits;
    const own = [...this.transfers].filter((transfer) => transfer.organisationId === organisationId);
    if (own.length >= perOrganisation)
      throw full(`The workspace has ${perOrganisation} ${name} at this gateway already: wait until one has ended.`);
    if (this.transfers.size >= inTotal) this.endSlow(organisationId);
    if (this.transfers.size >= inTotal)
      throw full(`The gateway has ${inTotal} ${name} already: retry after the seconds in Retry-After.`);
    const transfer: Transfer = {
      organisationId,
      controller: new AbortController(),
      windowStartMs: this.nowMs(),
      bytes: 0,
      isSlow: false,
    };
    this.transfers.add(transfer);
    return {
      signal: transfer.controller.signal,
      moved: (bytes) => {
        this.endWindow(transfer);
        transfer.bytes += bytes;
      },
      free: () => this.transfers.delete(transfer),
    };
  }

  private endSlow(organisationId: string): void {
    for (const transfer of this.transfers) {
      this.endWindow(transfer);
      if (!transfer.isSlow || transfer.organisationId === organisationId) continue;
      this.transfers.delete(transfer);
      transfer.controller.abort();
      return;
    }
  }

  private endWindow(transfer: Transfer): void {
    const nowMs = this.nowMs();
    if (nowMs - transfer.windowStartMs < this.limits.windowMs) return;
    transfer.isSlow = transfer.bytes < this.limits.minBytesInWindow;
    transfer.windowStartMs = nowMs;
    transfer.bytes = 0;
  }
}

const full = (message: string): ApiError => new ApiError('jobLimitExceeded', message, { retryAfterSeconds });
