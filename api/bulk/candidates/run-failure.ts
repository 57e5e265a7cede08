import { ApiError } from '../../../shared/contract/errors.js';
import { countText } from '../../../shared/contract/figures.js';
import { type ChunkFailure, nothingKnown, type RecordProblem } from '../../../shared/messages/score-job.js';
import type { CandidateRun, RunCounts } from '../../../shared/store/models/candidate-runs.js';

/** A run cannot go on. The message says why, for people. */
export class RunFailure extends Error {
  override name = 'RunFailure';
}

/** A version could not score a chunk. */
export class VersionFailure extends Error {
  override name = 'VersionFailure';

  constructor(
    readonly version: string,
    override readonly cause: unknown,
  ) {
    super(`version ${version} could not score recorded rows`);
  }
}

/** Failures in a row after which a run ends. */
const maxFailures = 5;
/** A quarantined version answers so at once, and another attempt cannot succeed for an hour. */
const maxUnavailable = 2;
const firstDelayMs = 1_000;
const maxDelayMs = 60_000;

/**
 * Decides what follows on a failed step. A failure of Redis or MongoDB ends no run.
 * @param earlier failures of versions in a row before this one
 */
export function afterFailure(
  error: unknown,
  earlier: number,
): RunFailure | { readonly failures: number; readonly retryInMs: number } {
  if (error instanceof RunFailure) return error;
  if (!(error instanceof VersionFailure)) return { failures: earlier, retryInMs: firstDelayMs };
  const failures = earlier + 1;
  if (isUnavailable(error) && failures >= maxUnavailable)
    return new RunFailure(
      `Version "${error.version}" cannot be loaded, or it crashed or hung its workers. Correct it, and import it under another version.`,
    );
  if (failures >= maxFailures)
    return new RunFailure(
      `Version "${error.version}" could not score recorded leads ${maxFailures} times in a row. Look for "a worker died" in the log of the pool, then make it the candidate again.`,
    );
  return { failures, retryInMs: Math.min(firstDelayMs * 4 ** earlier, maxDelayMs) };
}

function isUnavailable({ cause }: VersionFailure): boolean {
  const failure = cause instanceof ApiError ? (cause.options.cause as Partial<ChunkFailure> | undefined) : undefined;
  return failure?.code === 'model_unavailable';
}

/** A run takes leads of so many rows at most. */
export const maxRunRows = 2_000_000;

export const tooManyRows = (): RunFailure =>
  new RunFailure(
    `The model scored more than ${countText(maxRunRows)} leads in the last 365 days. A run takes no more.`,
  );

/** Share of the leads of a run that a candidate may refuse. */
const maxRefused = 0.001;

/** The rows of some steps that the candidate refused. */
export interface RefusedRows {
  readonly count: number;
  /** Rows among them without any field that the candidate reads. */
  readonly withoutFields: number;
  readonly first: Pick<RecordProblem, 'field' | 'expected'> | undefined;
}

/**
 * Refuses to go on with a candidate that cannot score too many leads. Names fields, and no value: the text is stored
 * and would outlive the erasure of a lead.
 * @param counts with these rows
 * @throws RunFailure
 */
export function checkRefused(run: CandidateRun, counts: RunCounts, { count, withoutFields, first }: RefusedRows): void {
  const { version, total = 0 } = run;
  if (counts.refused <= maxRefused * total) return;
  if (counts.rows === 0 && withoutFields === count)
    throw new RunFailure(
      `Version "${version}" reads no field that is recorded with the leads of this model. Send its fields with calls before you compare it.`,
    );
  const isNothing = first === undefined || first.expected === nothingKnown.expected;
  const named = first?.field === '' ? '' : ` in the field "${first?.field}"`;
  const reason = isNothing ? 'The first has no field that it reads.' : `The first needs ${first.expected}${named}.`;
  throw new RunFailure(
    `Version "${version}" cannot score ${countText(counts.refused)} of ${countText(total)} leads, more than 0.1 %. ${reason} Send its fields with calls before you compare it.`,
  );
}
