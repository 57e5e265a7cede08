import { promisify } from 'node:util';
import { crc32, gunzip } from 'node:zlib';
import { errorHeader } from '../../../../shared/files/result-columns.js';
import { withMongoTimeout } from '../../../../shared/store/connection/connect.js';
import {
  type Job,
  type JobSlice,
  numberOfSlice,
  type SliceBytes,
} from '../../../../shared/store/jobs/job-documents.js';
import type { SliceStore } from '../../../../shared/store/jobs/job-slices.js';
import type { ByteRange } from './byte-range.js';

const inflate = promisify(gunzip);
const readTimeoutMs = 10_000;
const slicesPerRead = 200;
/** Bytes that are written at once. A slow client must take this many in each period of `boundUnreadReply`. */
const pieceBytes = 64 * 1024;

/** One of the files of a job: its results or its errors, as text or as gzip members. */
export interface FileForm {
  readonly kind: 'results' | 'errors';
  readonly isGzip: boolean;
}

/** Reads the file of a job as it is when the job was read: its header, then its settled slices. */
export class ResultFile {
  readonly length: number;
  private readonly header: Buffer;
  private readonly size: keyof SliceBytes;

  constructor(
    private readonly job: Job,
    private readonly form: FileForm,
    private readonly slices: Pick<SliceStore, 'sliceAt' | 'withBytes' | 'read'>,
  ) {
    const header = Buffer.from(headerOf(job, form.kind));
    this.header = form.isGzip && header.length > 0 ? gzipMember(header) : header;
    const unit = form.kind === 'results' ? 'result' : 'error';
    this.size = form.isGzip ? `${unit}_gzip_bytes` : `${unit}_bytes`;
    this.length = this.header.length + job.settled[this.size];
  }

  /**
   * The bytes of a range, in small pieces. Holds two slices: the one that is written, and the next one.
   * @throws Error if the job was removed, or its results were erased, after it was read
   */
  async *read({ start, end }: ByteRange): AsyncGenerator<Buffer> {
    const { length: headerLength } = this.header;
    if (start < headerLength) yield* piecesOf(this.header.subarray(start, end));
    if (end <= headerLength) return;
    let position = Math.max(0, start - headerLength);
    for await (const { bytes, from } of this.slicesFrom(position, end - headerLength)) {
      yield* piecesOf(bytes.subarray(position - from, end - headerLength - from));
      position = from + bytes.length;
      if (position >= end - headerLength) return;
    }
    throw new Error(`the ${this.form.kind} of ${this.job._id} end before byte ${end}`);
  }

  /** The slices from the one with a byte, each read while the one before it is written. */
  private async *slicesFrom(first: number, end: number): AsyncGenerator<StoredBytes> {
    const { size } = this;
    let ahead: Promise<StoredBytes> | undefined;
    for await (const { _id, start, outcome } of this.settledFrom(first)) {
      const span = { from: start?.[size] ?? 0, length: outcome?.[size] ?? 0 };
      if (span.from >= end) break;
      const next = this.bytesOf(_id, span);
      // The loop awaits it later.
      next.catch(() => undefined);
      if (ahead !== undefined) yield await ahead;
      ahead = next;
    }
    if (ahead !== undefined) yield await ahead;
  }

  /** The settled slices with bytes, from the one with a byte. */
  private async *settledFrom(first: number): AsyncGenerator<JobSlice> {
    const { job, slices, size } = this;
    const settled = job.settled.slices;
    let from = await limited(() => slices.sliceAt(job._id, { settled, size, byte: first }));
    while (from < settled) {
      const range = { from, to: settled, limit: slicesPerRead };
      const found = await limited(() => slices.withBytes(job._id, size, range));
      yield* found;
      const last = found.at(-1);
      if (last === undefined || found.length < slicesPerRead) return;
      from = numberOfSlice(last._id) + 1;
    }
  }

  private async bytesOf(id: string, span: { readonly from: number; readonly length: number }): Promise<StoredBytes> {
    const stored = await limited(() => this.slices.read(id, this.form.kind));
    if (stored === undefined) throw new Error(`the ${this.form.kind} of slice ${id} are not stored`);
    const bytes = this.form.isGzip ? stored : await inflate(stored, { maxOutputLength: span.length + 1 });
    if (bytes.length !== span.length)
      throw new Error(`the ${this.form.kind} of slice ${id} have ${bytes.length} bytes, not ${span.length}`);
    return { bytes, from: span.from };
  }
}

/** Bytes of a slice, and their offset behind the header. */
interface StoredBytes {
  readonly bytes: Buffer;
  readonly from: number;
}

const limited = <Result>(work: () => Promise<Result>): Promise<Result> => withMongoTimeout(readTimeoutMs, work);

function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let from = 0; from < bytes.length; from += pieceBytes) yield bytes.subarray(from, from + pieceBytes);
}

/** The line that begins a CSV. Empty before the file was read, and for JSON Lines. */
function headerOf({ file, options }: Job, kind: FileForm['kind']): string {
  if (file === undefined || options.format !== 'csv') return '';
  return kind === 'results' ? file.header_line : errorHeader(file.shape);
}

const maxStoredBlock = 65_535;

/**
 * A gzip member that stores bytes without compression. Compressed bytes would depend on the version of zlib, and a
 * download may go on at a gateway with another one.
 */
function gzipMember(bytes: Buffer): Buffer {
  const pieces: Buffer[] = [Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff])];
  for (let from = 0; from < bytes.length; from += maxStoredBlock) {
    const block = bytes.subarray(from, from + maxStoredBlock);
    const head = Buffer.alloc(5);
    head.writeUInt8(from + block.length === bytes.length ? 1 : 0, 0);
    head.writeUInt16LE(block.length, 1);
    head.writeUInt16LE(0xffff - block.length, 3);
    pieces.push(head, block);
  }
  const tail = Buffer.alloc(8);
  tail.writeUInt32LE(crc32(bytes), 0);
  tail.writeUInt32LE(bytes.length, 4);
  return Buffer.concat([...pieces, tail]);
}
