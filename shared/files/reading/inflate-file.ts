import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { BytesFault, readableBytes } from './input-fault.js';

/** Bytes that are scanned in one step. They take about a millisecond. */
export const pieceBytes = 256 * 1024;
const minPieceBytes = 64 * 1024;
const gzipMark = [0x1f, 0x8b] as const;
const again = 'Compress the file again';

export interface InflateOptions {
  readonly inflatedBytes: number;
  /** Receives the bytes of the file, as stored, that were read so far. */
  readonly onProgress: (readBytes: number) => void;
  /** Called before the first piece of a file that is gzip. */
  readonly onGzip?: () => void;
}

/**
 * Inflates a file if it is gzip: one file of one or several members. Yields pieces of at most `pieceBytes`, of which
 * only the last one may be short.
 * @throws BytesFault for corrupt gzip or more than `inflatedBytes`; errors of the source
 */
export async function* inflatedPieces(
  file: AsyncIterable<Uint8Array>,
  { inflatedBytes, onProgress, onGzip }: InflateOptions,
): AsyncGenerator<Buffer> {
  const sent = pieces(counted(file, onProgress));
  try {
    const first = await sent.next();
    if (first.done === true) return;
    const whole = withFirst(first.value, sent);
    const isGzip = gzipMark.every((byte, at) => first.value[at] === byte);
    if (isGzip) onGzip?.();
    let length = 0;
    for await (const piece of isGzip ? pieces(inflated(whole)) : whole) {
      length += piece.length;
      if (length > inflatedBytes)
        throw new BytesFault(
          `The file has more than ${readableBytes(inflatedBytes)}${isGzip ? ' when it is inflated' : ''}`,
          'Split it',
        );
      yield piece;
    }
  } finally {
    // A reader that stops early must also end the source.
    await sent.return(undefined);
  }
}

async function* counted(
  file: AsyncIterable<Uint8Array>,
  onProgress: (readBytes: number) => void,
): AsyncGenerator<Uint8Array> {
  let read = 0;
  for await (const bytes of file) {
    yield bytes;
    read += bytes.length;
    onProgress(read);
  }
}

async function* withFirst(first: Buffer, others: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  for (;;) {
    const next = await others.next();
    if (next.done === true) return;
    yield next.value;
  }
}

/** Splits long pieces and joins short ones. It yields the pieces before an error of the source, then throws it. */
async function* pieces(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let short: Buffer[] = [];
  let shortBytes = 0;
  let failure: { readonly error: unknown } | undefined;
  const whole = caught(source, (error) => {
    failure = { error };
  });
  for await (const bytes of whole) {
    for (let from = 0; from < bytes.length; from += pieceBytes) {
      const to = Math.min(from + pieceBytes, bytes.length);
      const piece = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from);
      if (shortBytes === 0 && piece.length >= minPieceBytes) {
        yield piece;
        continue;
      }
      if (shortBytes + piece.length > pieceBytes) {
        yield Buffer.concat(short);
        [short, shortBytes] = [[], 0];
      }
      // A copy: a source may send megabytes one byte at a time, each as a view of a larger buffer.
      short.push(Buffer.from(piece));
      shortBytes += piece.length;
      if (shortBytes < minPieceBytes) continue;
      yield Buffer.concat(short);
      [short, shortBytes] = [[], 0];
    }
  }
  if (shortBytes > 0) yield Buffer.concat(short);
  if (failure !== undefined) throw failure.error;
}

/** Ends where the source throws. */
async function* caught(
  source: AsyncIterable<Uint8Array>,
  onError: (error: unknown) => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* source;
  } catch (error) {
    onError(error);
  }
}

async function* inflated(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let fed = 0;
  let sourceError: { readonly error: unknown } | undefined;
  const feed = async function* () {
    try {
      for await (const bytes of source) {
        fed += bytes.length;
        yield bytes;
      }
    } catch (error) {
      sourceError = { error };
      throw error;
    }
  };
  const gunzip = createGunzip({ chunkSize: pieceBytes });
  const sending = Readable.from(feed());
  sending.on('error', (error) => gunzip.destroy(error));
  sending.pipe(gunzip);
  try {
    for await (const bytes of gunzip) yield bytes as Buffer;
  } catch (error) {
    if (sourceError !== undefined) throw sourceError.error;
    throw gzipFault(error);
  } finally {
    sending.destroy();
    gunzip.destroy();
  }
  // Node ends at a zero byte between members, and would leave out the members after it.
  if (fed !== gunzip.bytesWritten || !sending.readableEnded)
    throw new BytesFault('The gzip file has other bytes after its end', again);
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

function gzipFault(error: unknown): BytesFault {
  if (codeOf(error) === 'Z_BUF_ERROR') return new BytesFault('The gzip file ends early', 'Take the complete file');
  const detail = error instanceof Error ? error.message : String(error);
  return new BytesFault(`The gzip file is corrupt: ${detail}`, again);
}
