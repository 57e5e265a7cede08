import { type JobSlice, jobOfSlice, type UploadRange } from '../../../shared/store/jobs/job-documents.js';
import { inflateMember, type SliceStore } from '../../../shared/store/jobs/job-slices.js';
import type { JobUploadStore } from '../../../shared/store/jobs/job-uploads.js';

/** Parts that are kept. Slices in flight have their rows in two to four, and each part has those of several slices. */
const maxKept = 6;

type Parts = ReturnType<JobUploadStore['parts']>;

/** Reads the rows of slices: blobs, or ranges of uploads. Parts of uploads that were read last are kept. */
export class RowReader {
  private readonly kept = new Map<string, Parts>();

  constructor(
    private readonly slices: SliceStore,
    private readonly uploads: JobUploadStore,
  ) {}

  /**
   * The rows of a slice, inflated.
   * @throws Error when they were removed, because the slice is settled or its job was canceled
   */
  async rowsOf({ _id, range }: Pick<JobSlice, '_id' | 'range'>): Promise<Buffer> {
    const inPlace = range && (await this.bytesIn(jobOfSlice(_id), range));
    if (inPlace !== undefined) return inPlace;
    // Also of a slice with a range: an earlier release may have read the file since, and removed the upload.
    const blob = await this.slices.read(_id, 'input');
    if (blob === undefined) throw new Error(`the rows of the slice ${_id} are missing`);
    return await inflateMember(blob);
  }

  /** @returns undefined when a part of them was removed */
  private async bytesIn(jobId: string, range: UploadRange): Promise<Buffer | undefined> {
    const { from, to, first_part: first, last_part: last } = range;
    // An upload in many small pieces has many parts, of which none has the rows of two slices.
    const parts =
      last - first < maxKept ? await this.keptParts(jobId, range) : this.uploads.parts(jobId, { first, last });
    const pieces = (await parts).flatMap(({ offset, bytes }) => {
      const piece = bytes.subarray(Math.max(0, from - offset), Math.max(0, to - offset));
      return piece.length === 0 ? [] : piece;
    });
    const [only = Buffer.alloc(0)] = pieces;
    const bytes = pieces.length === 1 ? only : Buffer.concat(pieces);
    return bytes.length === to - from ? bytes : undefined;
  }

  private async keptParts(jobId: string, { first_part: first, last_part: last }: UploadRange): Parts {
    const parts: Parts[] = [];
    for (let number = first; number <= last; number += 1) parts.push(this.part(jobId, number));
    return (await Promise.all(parts)).flat();
  }

  private part(jobId: string, number: number): Parts {
    const key = `${jobId}.${number}`;
    const part = this.kept.get(key) ?? this.uploads.parts(jobId, { first: number, last: number });
    // The part that was used last is the last one.
    this.kept.delete(key);
    this.kept.set(key, part);
    part.catch(() => this.kept.delete(key));
    const [oldest = key] = this.kept.keys();
    if (this.kept.size > maxKept) this.kept.delete(oldest);
    return part;
  }
}
