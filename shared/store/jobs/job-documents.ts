import type { Binary } from 'mongodb';
import { callIdPrefix } from '../../contract/identifiers.js';
import type { FileShape } from '../../files/file-form.js';
import type { UsageBucket } from '../../redis/keys.js';
import type { CountedField, InputSums } from './input-sums.js';
import type { JobOptions } from './job-options.js';

/*
 * The documents of bulk jobs. A job is one file that is scored; docs/bulk.md describes its life. Its file is cut into
 * slices of at most 1000 or 2000 rows, and each slice is scored and recorded as one call.
 */

export const jobStates = [
  'awaiting_upload',
  'reading',
  'running',
  'paused',
  'completed',
  'canceled',
  'failed',
] as const;
export type JobState = (typeof jobStates)[number];

/** The states that a job leaves by itself or by a command. Each organisation may have a limited number of such jobs. */
export const unfinishedStates = [
  'awaiting_upload',
  'reading',
  'running',
  'paused',
] as const satisfies readonly JobState[];

/** Whether a job is in a final state. */
export const hasEnded = ({ state }: { readonly state: JobState }): boolean =>
  !unfinishedStates.some((unfinished) => unfinished === state);

export const pauseReasons = [
  ...(['requested', 'quota_exceeded', 'too_many_errors', 'model_unavailable', 'scoring_failed'] as const),
  ...(['workspace_suspended', 'expired_read_only', 'api_disabled', 'deploy_blocked'] as const),
] as const;
export type PauseReason = (typeof pauseReasons)[number];

/** Sums over the slices from the first to the last one of the settled prefix. */
export interface JobTotals {
  readonly slices: number;
  readonly rows: number;
  readonly scored: number;
  readonly failed: number;
  readonly empty: number;
  /** Bytes of results, without the CSV header: as text, and as gzip members. */
  readonly result_bytes: number;
  readonly result_gzip_bytes: number;
  /** The same of the list of failed rows. */
  readonly error_bytes: number;
  readonly error_gzip_bytes: number;
}

export const noTotals: JobTotals = {
  slices: 0,
  rows: 0,
  scored: 0,
  failed: 0,
  empty: 0,
  result_bytes: 0,
  result_gzip_bytes: 0,
  error_bytes: 0,
  error_gzip_bytes: 0,
};

/** One document of `jobs`. */
export interface Job {
  /** `job_` and 26 characters, of which the first six belong to the organisation: see `jobIdOf`. */
  readonly _id: string;
  readonly org: string;
  /** Id of the API key that created the job, or `consoleKeyId`. Its calls are recorded under this key. */
  readonly key: string;
  /** Whether that key may not read stored values, so that reasons do not name them. */
  readonly hides_stored?: true;
  /** Name of the person who created the job in the console. Absent for a job of an API key. */
  readonly person?: string;
  /** Marks the file of a browser, by its length, its time and samples of its content. Absent without one. */
  readonly fingerprint?: string;
  readonly bucket: UsageBucket;
  readonly model: string;
  /** The version that scores all rows: the model's current one at creation. */
  readonly version: string;
  readonly options: JobOptions;
  readonly state: JobState;
  readonly pause?: { readonly reason: PauseReason; readonly message: string; readonly resume_at?: Date };
  /** Why a `failed` job cannot be read: a sentence that names line and column where there are any. */
  readonly failure?: { readonly message: string; readonly line?: number; readonly column?: number };
  /** The Idempotency-Key of the creation. Unique in organisation and bucket. */
  readonly idempotency?: { readonly key: string; readonly body_hash: string };
  readonly upload: {
    /** Bytes of the complete upload as sent; absent until they are known. */
    readonly length?: number;
    /** Bytes that are stored so far. */
    readonly bytes?: number;
    /** The call that may add bytes now. A later call replaces it. */
    readonly writer?: string;
    /** Set when all bytes have arrived. */
    readonly complete_at?: Date;
    /** SHA-256 of the upload as sent, in hex. Set at the end of reading. */
    readonly sha256?: string;
  };
  /** Bytes of the input as sent that the reader has read, for progress. */
  readonly read_bytes?: number;
  /** The reading of stored leads that may add slices, and the rows that it has added. A later reading replaces it. */
  readonly reader?: { readonly id: string; readonly rows: number };
  /** Set at the end of reading. */
  readonly file?: {
    readonly shape: FileShape;
    readonly rows: number;
    readonly slices: number;
    /** The line of a CSV that begins the results. */
    readonly header_line: string;
    /** The fields of the model that `input` counts, in its order. */
    readonly fields?: readonly CountedField[];
  };
  /** How the fields were read in the settled prefix. Set at the end of reading, and changed with `settled` alone. */
  readonly input?: InputSums;
  /** Sentences about the file: see `ReadFile` and `SliceOutcome`. They quote no value. Absent without one. */
  readonly notices?: readonly string[];
  /** Sums over the settled prefix. Results and progress come from it, so both only grow. */
  readonly settled: JobTotals;
  /** Failed rows at the last resumption from too many errors. They no longer count against `max_errors`. */
  readonly forgiven_errors?: number;
  /** How often an erasure has changed results. Part of their ETag. */
  readonly revision: number;
  readonly created_at: Date;
  /** Start of scoring. */
  readonly started_at?: Date;
  /** Set in a final state. */
  readonly ended_at?: Date;
  /** When all its documents are removed. */
  readonly purge_at: Date;
}

/** Whether worker processes of bulk jobs score a job: its file has more than one slice, or is too long for one. */
export const needsBulkWorkers = ({ file, upload }: Pick<Job, 'file' | 'upload'>): boolean =>
  file === undefined ? (upload.length ?? 0) > jobLimits.sliceBytes : file.slices > 1;

/** The members that a job gets at its end. */
export const endedAt = (nowMs: number, retentionMs: number): Required<Pick<Job, 'ended_at' | 'purge_at'>> => ({
  ended_at: new Date(nowMs),
  purge_at: new Date(nowMs + retentionMs),
});

/**
 * `pending` or `ranged` until its call is recorded, `done` until its results are shown, then `settled`: its call can no
 * longer be voided. The rows of a `ranged` slice are a range of the upload. Runners before these ranges score `pending`
 * slices alone, so they never miss the rows of one.
 */
type SliceState = 'pending' | 'ranged' | 'done' | 'settled';

/** The states of a slice that has no outcome. */
export const openSliceStates = ['pending', 'ranged'] as const satisfies readonly SliceState[];

/** Bytes of an upload, from one to before another, and the numbers of the first and the last part that have them. */
export interface UploadRange {
  readonly from: number;
  readonly to: number;
  readonly first_part: number;
  readonly last_part: number;
}

/** Bytes of results and errors: of one slice, or of all slices before one. */
export type SliceBytes = Pick<JobTotals, 'result_bytes' | 'result_gzip_bytes' | 'error_bytes' | 'error_gzip_bytes'>;

/** The outcome of a slice. */
export interface SliceOutcome extends SliceBytes {
  /** Absent when no row was scored: then nothing was recorded. */
  readonly call_id?: string;
  readonly scored: number;
  readonly failed: number;
  readonly empty: number;
  /** How the fields of its scored rows were read. Absent without one. */
  readonly input?: InputSums;
  /** Sentences about its values, which the job gets with its first scored row. Absent without one. */
  readonly notices?: readonly string[];
  readonly done_at: Date;
}

/** One document of `job_slices`. */
export interface JobSlice {
  /** See `sliceId`. */
  readonly _id: string;
  readonly rows: number;
  /** The number of its first row in the file, from 1 without the header, and the line of that row, from 1. */
  readonly first_row: number;
  readonly first_line: number;
  readonly state: SliceState;
  /** Where its rows are in the upload. Absent when they are stored as a blob. */
  readonly range?: UploadRange;
  readonly outcome?: SliceOutcome;
  /** Set with `settled`. */
  readonly start?: SliceBytes;
}

export type BlobKind = 'input' | 'results' | 'errors';

/** One document of `job_blobs`: rows of a slice as one gzip member. */
export interface JobBlob {
  /** See `blobId`. */
  readonly _id: string;
  readonly data: Binary;
}

/** One document of `job_uploads`: bytes of an upload, as sent. */
export interface UploadPart {
  /** See `partId`. */
  readonly _id: string;
  readonly offset: number;
  readonly length: number;
  readonly data: Binary;
}

const numberLength = 7;

/** `<job>.<number, seven digits>`: the documents of a job lie together, in order. */
export const sliceId = (jobId: string, number: number): string =>
  `${jobId}.${String(number).padStart(numberLength, '0')}`;

export const numberOfSlice = (id: string): number => Number(id.slice(-numberLength));

export const jobOfSlice = (id: string): string => id.slice(0, -numberLength - 1);

const partNumberLength = 14;

/**
 * `<job>.<number, fourteen digits>`. An upload that begins again has higher numbers, so it never meets earlier parts.
 */
export const partId = (jobId: string, number: number): string =>
  `${jobId}.${String(number).padStart(partNumberLength, '0')}`;

export const blobId = (slice: string, kind: BlobKind): string => `${slice}.${kind}`;

/** The range of `_id` of a job's slices, blobs or parts. In ASCII `/` follows `.`. */
export const idsOfJob = (jobId: string): { readonly $gte: string; readonly $lt: string } => ({
  $gte: `${jobId}.`,
  $lt: `${jobId}/`,
});

/**
 * The range of `_id` of an organisation's jobs, slices, blobs or parts; `_id` is the shard key. In ASCII, `~` is the
 * last.
 */
export const idsOfOrganisation = (organisationId: string): { readonly $gte: string; readonly $lt: string } => {
  const prefix = `job_${callIdPrefix(organisationId)}`;
  return { $gte: prefix, $lt: `${prefix}~` };
};

const minStoredBytes = 256 * 1024 * 1024;
/** A CRM exports some 200 bytes to 2 KiB a lead. */
const storedBytesPerRecord = 8 * 1024;

/**
 * Bytes of uploads that an organisation may have in all its jobs together. Without this limit, a trial could fill the
 * disk.
 * @param recordsPerMonth the limit of its live keys
 */
export const maxStoredBytes = (recordsPerMonth: number): number =>
  Math.max(minStoredBytes, storedBytesPerRecord * recordsPerMonth);

/** The limits of jobs. docs/bulk.md states them. */
export const jobLimits = {
  rowsPerSlice: 1_000,
  /** For a job that does not explain, if its key may score so many records a month: a row of it costs less. */
  rowsPerLongSlice: 2_000,
  recordsForLongSlices: 100_000,
  /** A slice ends after this many bytes of rows. */
  sliceBytes: 2 * 1024 * 1024,
  rowBytes: 1024 * 1024,
  rows: 10_000_000,
  uploadBytes: 5 * 1024 ** 3,
  inflatedBytes: 50 * 1024 ** 3,
  headerBytes: 1024 * 1024,
  /** Unfinished jobs of an organisation. */
  unfinishedJobs: 20,
  /** Uploads that one gateway takes at once. */
  uploadsAtOnce: 8,
  /** An upload ends after this time without a byte. */
  uploadSilenceMs: 30_000,
  /** A job whose upload is not complete after this time is canceled. */
  awaitUploadMs: 24 * 60 * 60 * 1_000,
  uploadPartBytes: 1024 * 1024,
  maxErrors: 10_000_000,
  defaultMaxErrors: 10_000,
} as const;
