import { gunzipSync } from 'node:zlib';
import { type FileLimits, type InputFault, type RawSlice, readInput } from '../../../../api/bulk/reading/read-input.js';
import { compileKnownFields } from '../../../../shared/messages/field-slots.js';
import type { JobOptions } from '../../../../shared/store/jobs/job-options.js';
import { defaultOptions } from '../../../support/jobs/sample-job.js';

/** A model with two fields, one of which has an alias. */
export const knownFields = compileKnownFields({
  features: [
    { type: 'number', field: 'Size', label: 'Size', columns: [0] },
    { type: 'number', field: 'Visits', label: 'Visits', columns: [1], aliases: ['Total Visits'] },
  ],
});

export interface ReadWith {
  readonly options?: Partial<JobOptions>;
  readonly limits?: Partial<FileLimits>;
  /** Bytes of each chunk of the upload. */
  readonly chunkBytes?: number;
}

/** Reads a file as a bulk job does; collects its slices. */
export async function readAll(file: string | Uint8Array, { options, limits, chunkBytes = 1 << 20 }: ReadWith = {}) {
  const bytes = Buffer.from(file);
  const slices: RawSlice[] = [];
  const progress: number[] = [];
  const read = await readInput(
    chunksOf(bytes, chunkBytes),
    { ...defaultOptions, ...options },
    {
      knownFields,
      onSlices: async (some) => {
        slices.push(...some);
      },
      onProgress: (readBytes) => progress.push(readBytes),
      ...(limits === undefined ? {} : { limits }),
    },
  );
  const texts = slices.map((slice) => rowsOf(slice, bytes).toString());
  return { ...read, raw: slices, progress, texts };
}

/** The rows of a slice of a file, whether they stay in it or not. */
export const rowsOf = ({ input, bytes: { from, to } }: RawSlice, file: Buffer): Buffer =>
  input === undefined ? file.subarray(from, to) : gunzipSync(input);

async function* chunksOf(bytes: Uint8Array, length: number): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += length) yield bytes.subarray(from, from + length);
}

/** The fault of a file that cannot be read. */
export const faultOf = (file: string | Uint8Array, how: ReadWith = {}): Promise<InputFault> =>
  readAll(file, how).then(
    () => {
      throw new Error('the file was read');
    },
    (error: InputFault) => error,
  );
