import type { IncomingMessage } from 'node:http';
import { ApiError } from '../../../shared/contract/errors.js';
import { freeBytes } from '../../../shared/process/free-bytes.js';
import { areTooSmall, CallerGone } from '../read-body.js';

export interface PartLimits {
  /** Bytes of a part; the memory of an upload is at most two of them. */
  readonly partBytes: number;
  /** Longest time without a byte, ms. */
  readonly silenceMs: number;
  /** The most bytes that the body may have. */
  readonly maxBytes: number;
  /** The error for a longer body. */
  readonly tooLarge: () => ApiError;
  /** Aborted when the upload has to give way to another one. */
  readonly signal: AbortSignal;
  readonly moved: (bytes: number) => void;
}

/**
 * Reads a long body and stores it in parts, in order. While one part is stored, the next one arrives; then the
 * connection pauses. When the caller hangs up or falls silent, the bytes that have arrived are stored before this
 * throws.
 * @param store must not keep the bytes of a part: their memory is freed once they are stored
 * @returns bytes of the body
 * @throws CallerGone; ApiError refusedRequest for a body that is too large, silent, or in too small chunks; ApiError
 * jobLimitExceeded when it gives way; what `store` throws
 */
export async function receiveParts(
  request: IncomingMessage,
  limits: PartLimits,
  store: (part: Buffer) => Promise<void>,
): Promise<number> {
  const parts = new PartWriter(limits, store);
  const body = new BodyChunks(request, limits);
  let bytes = 0;
  let isTooLarge = false;
  try {
    for (let chunk = await body.next(); chunk !== undefined; chunk = await body.next()) {
      bytes += chunk.length;
      isTooLarge = bytes > limits.maxBytes;
      if (isTooLarge) throw limits.tooLarge();
      limits.moved(chunk.length);
      await parts.add(chunk);
    }
  } catch (error) {
    // Keeps the bytes that have arrived, so that the caller need not send them again. A body that is too large loses
    // its last part: with all allowed bytes, the file would seem complete.
    if (!parts.hasFailed) await (isTooLarge ? parts.stored() : parts.finish()).catch(() => undefined);
    throw error;
  } finally {
    body.leave();
  }
  await parts.finish();
  return bytes;
}

/** Copies chunks into parts of a fixed size. A chunk itself may be a byte that holds a large buffer of the socket. */
class PartWriter {
  hasFailed = false;
  private part: Buffer | undefined;
  private used = 0;
  private bytes = 0;
  private storing: Promise<void> = Promise.resolve();

  constructor(
    private readonly limits: Pick<PartLimits, 'partBytes' | 'maxBytes'>,
    private readonly store: (part: Buffer) => Promise<void>,
  ) {}

  async add(chunk: Buffer): Promise<void> {
    for (let from = 0; from < chunk.length; ) {
      this.part ??= Buffer.allocUnsafeSlow(this.limits.partBytes);
      const copied = chunk.copy(this.part, this.used, from);
      from += copied;
      this.used += copied;
      this.bytes += copied;
      // The last allowed byte waits for the end of the body.
      if (this.used === this.limits.partBytes && this.bytes < this.limits.maxBytes) await this.flush();
    }
    freeBytes(chunk);
  }

  async finish(): Promise<void> {
    if (this.used > 0) await this.flush();
    await this.stored();
  }

  /** Resolves when the parts before the one that is being filled are stored. */
  async stored(): Promise<void> {
    await this.storing;
  }

  /** Begins to store a full part, once the one before it is stored. */
  private async flush(): Promise<void> {
    const { part, used } = this;
    if (part === undefined) return;
    this.part = undefined;
    this.used = 0;
    await this.storing;
    this.storing = this.store(part.subarray(0, used)).then(
      () => freeBytes(part),
      (error: unknown) => {
        // Not freed: a write that was given up may still be sent.
        this.hasFailed = true;
        throw error;
      },
    );
    // A later step awaits it.
    this.storing.catch(() => undefined);
  }
}

const maxQueuedBytes = 256 * 1024;

/** The chunks of a body. The connection pauses while some of them wait. */
class BodyChunks {
  private readonly queue: Buffer[] = [];
  private queuedBytes = 0;
  private chunks = 0;
  private bytes = 0;
  /** Set at the end of the body, successful or not. */
  private end: { readonly error?: Error } | undefined;
  private wake: () => void = () => undefined;

  constructor(
    private readonly request: IncomingMessage,
    private readonly limits: Pick<PartLimits, 'silenceMs' | 'signal'>,
  ) {
    if (request.destroyed) this.gone();
    request.on('data', this.take).on('end', this.done).on('close', this.gone).on('error', this.gone);
    limits.signal.addEventListener('abort', this.giveWay);
    if (limits.signal.aborted) this.giveWay();
  }

  /** The next bytes; undefined at the end of the body. @throws ApiError, CallerGone, as `receiveParts` */
  async next(): Promise<Buffer | undefined> {
    const isWaiting = this.queue.length === 0 && this.end === undefined;
    if (isWaiting) await this.more();
    const chunk = this.queue.shift();
    if (chunk === undefined) {
      if (this.end?.error !== undefined) throw this.end.error;
      return undefined;
    }
    this.queuedBytes -= chunk.length;
    return chunk;
  }

  /** Leaves the rest of the body to others. */
  leave(): void {
    this.request.off('data', this.take).off('end', this.done).off('close', this.gone).off('error', this.gone);
    this.limits.signal.removeEventListener('abort', this.giveWay);
  }

  private more(): Promise<void> {
    const { silenceMs } = this.limits;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.finish(silent(silenceMs)), silenceMs);
      this.wake = () => {
        clearTimeout(timer);
        this.wake = () => undefined;
        resolve();
      };
      this.request.resume();
    });
  }

  private readonly take = (chunk: Buffer): void => {
    this.chunks += 1;
    this.bytes += chunk.length;
    this.queue.push(chunk);
    this.queuedBytes += chunk.length;
    const isBad = areTooSmall(this.chunks, this.bytes);
    if (isBad || this.queuedBytes >= maxQueuedBytes) this.request.pause();
    if (isBad) this.finish(closing('The body comes in too many small chunks: send larger ones.'));
    this.wake();
  };

  private readonly done = (): void => this.finish(this.request.complete ? undefined : new CallerGone(hungUp));
  private readonly gone = (): void => this.finish(new CallerGone(hungUp));
  private readonly giveWay = (): void => this.finish(gaveWay());

  private finish(error?: Error): void {
    this.end ??= error === undefined ? {} : { error };
    this.wake();
  }
}

const hungUp = 'the caller hung up during the upload';
const kept = 'The bytes that arrived are kept: HEAD on this address has their number, and PATCH sends the rest.';

const closing = (message: string): ApiError =>
  new ApiError('refusedRequest', message, { headers: { Connection: 'close' } });

const silent = (silenceMs: number): ApiError => closing(`No byte arrived for ${silenceMs / 1000} seconds. ${kept}`);

const gaveWay = (): ApiError =>
  new ApiError('jobLimitExceeded', `The upload was slow and gave way to another one. ${kept}`, {
    retryAfterSeconds: 30,
    headers: { Connection: 'close' },
  });
