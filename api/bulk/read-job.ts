import { createHash, type Hash } from 'node:crypto';
import { ApiError } from '../../shared/contract/errors.js';
import { allowanceOf } from '../../shared/contract/plans.js';
import { type Job, jobLimits, maxStoredBytes } from '../../shared/store/jobs/job-documents.js';
import type { JobUploadStore } from '../../shared/store/jobs/job-uploads.js';
import { type EndReadingDeps, failJob, NoLongerReading, removeUnused, startRunning } from './reading/end-reading.js';
import { PartPlaces } from './reading/part-places.js';
import { InputFault, readInput } from './reading/read-input.js';
import { countedFields, unreadInput } from './rows/input-counts.js';

export interface ReadJobDeps extends EndReadingDeps {
  readonly uploads: JobUploadStore;
  /** Aborted when the process stops. Reading begins again elsewhere. */
  readonly stopping: AbortSignal;
}

const progressEveryMs = 1_000;

/**
 * Reads the uploaded file of a job and cuts it into slices. The rows of a plain file stay in the upload. A file that
 * cannot be read makes the job `failed`, with a sentence for people. After a crash, reading begins again: slices that
 * exist stay, because the cuts are the same.
 * @throws errors of MongoDB; the reason of `stopping`
 */
export async function readJob(job: Job, deps: ReadJobDeps): Promise<void> {
  const { jobs, slices, uploads, workspaces, stopping } = deps;
  const compiled = await workspaces.manifest(job.model, job.version);
  const left = new AbortController();
  const signal = AbortSignal.any([stopping, left.signal]);
  let readBytes = 0;
  const digest = createHash('sha256');
  const places = new PartPlaces();
  const read = uploads.read(job._id, (part) => places.add(part));
  const timer = setInterval(() => void storeProgress(), progressEveryMs);
  const storeProgress = async (): Promise<void> => {
    const changed = await jobs.change(job._id, ['reading'], { $set: { read_bytes: readBytes } }).catch(() => job);
    if (changed === undefined) left.abort(new NoLongerReading('the job is no longer in the state reading'));
  };
  try {
    if (compiled === undefined) throw new ApiError('modelNotFound', 'The version of the model is no longer stored.');
    const {
      shape,
      rows,
      slices: count,
      header_line,
      notices,
      unknown,
      isInPlace,
    } = await readInput(hashed(read, digest), job.options, {
      knownFields: compiled.knownFields,
      onSlices: (added) =>
        slices.add(
          job._id,
          added.map(({ input, bytes, ...slice }) =>
            input === undefined ? { slice: { ...slice, range: places.rangeOf(bytes) } } : { slice, input },
          ),
        ),
      onProgress: (bytes) => {
        readBytes = bytes;
      },
      signal,
      limits: await limitsOf(job, deps),
    });
    const sha256 = digest.digest('hex');
    refuseOtherFile(job, sha256);
    const model = { id: job.model, version: job.version, knownFields: compiled.knownFields };
    const file = { shape, rows, slices: count, header_line, fields: countedFields(model) };
    const input = unreadInput(model, unknown);
    await startRunning(job, { file, input, notices, sha256 }, deps);
    // Its parts go when their rows have results.
    if (isInPlace) return;
  } catch (error) {
    if (error instanceof NoLongerReading) return await removeUnused(job, deps);
    if (!(error instanceof InputFault || error instanceof ApiError)) throw error;
    if (!(await failJob(job, error, deps))) return;
  } finally {
    clearInterval(timer);
  }
  await uploads.removeInSteps(job._id, stopping);
}

async function* hashed(pieces: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
}

/** @throws InputFault when the creation named another file */
function refuseOtherFile({ options: { sha256: named } }: Job, sha256: string): void {
  if (named === undefined || named === sha256) return;
  throw new InputFault(
    `The upload is not the file that the job names: its SHA-256 is ${sha256}, and "sha256" of "input" is ${named}. ` +
      'Create a job for this file',
  );
}

/** Text compresses to a tenth. More than twice that is no export of a CRM, and would delay the files of others. */
const inflatedPerStoredByte = 20;

interface PlanLimits {
  readonly inflatedBytes: number;
  readonly rowsPerSlice: number;
}

/** The limits of a file that depend on the plan, as the size of its upload does. */
async function limitsOf(job: Job, { workspaces, slices }: ReadJobDeps): Promise<PlanLimits> {
  const workspace = await workspaces.workspace(job.org);
  const recordsOf = (bucket: Job['bucket']) =>
    workspace === undefined ? 0 : allowanceOf(workspace.organisation, bucket).limit;
  const inflatedBytes = inflatedPerStoredByte * maxStoredBytes(recordsOf('live'));
  const storedRows = await slices.mostRows(job._id);
  return {
    inflatedBytes: Math.min(jobLimits.inflatedBytes, inflatedBytes),
    rowsPerSlice: rowsPerSlice({ ...job.options, records: recordsOf(job.bucket), storedRows }),
  };
}

interface SliceLength {
  readonly explain: boolean;
  /** Records that the key may score in a month. */
  readonly records: number;
  /** Rows of the longest slice that an interrupted reading has stored; 0 without one. */
  readonly storedRows: number;
}

/**
 * Rows of a slice. A slice is scored whole or not at all, so long ones would leave too much of a small quota unused.
 * Slices that are stored stay, so further ones are as long: the plan may have changed, or an earlier release made them.
 */
function rowsPerSlice({ explain, records, storedRows }: SliceLength): number {
  const { rowsPerSlice: short, rowsPerLongSlice: long, recordsForLongSlices } = jobLimits;
  if (storedRows > 0) return storedRows > short ? long : short;
  return explain || records < recordsForLongSlices ? short : long;
}
