import type { Db } from 'mongodb';
import { callIdPrefix } from '../../../shared/contract/identifiers.js';
import type { CandidateRun } from '../../../shared/store/models/candidate-runs.js';
import { FirstScores, segmentsInOrder } from '../../../shared/store/models/first-scores.js';
import { pageOfIds } from '../../../shared/store/models/segment-pages.js';
import { RunFailure } from './run-failure.js';

/** The first predictions of leads in a segment, by their indexes in its columns. */
export interface FirstRows {
  readonly segmentId: string;
  readonly rows: readonly number[];
}

/** Rows that a step scores at most. A segment has up to a hundred. */
const rowsPerStep = 1_000;

interface FirstRowsDeps {
  readonly database: Db;
  /** Waits before each read until the run may go on. */
  readonly makeWay: () => Promise<void>;
  /** Aborted when the process stops. */
  readonly signal: AbortSignal;
}

/**
 * Finds the first predictions of leads under any version of a model, in the order of ids. Segments before the run's
 * window, and those that it has done, only tell which leads are known.
 * @throws RunFailure for too many leads; errors of MongoDB; the reason of the signal
 */
export async function* firstRows(
  run: Pick<CandidateRun, 'org' | 'model' | 'from_id' | 'until_id' | 'after_id'>,
  { database, makeWay, signal }: FirstRowsDeps,
): AsyncGenerator<FirstRows> {
  const { org, model, from_id: fromId, until_id: untilId, after_id: afterId = fromId } = run;
  const range = { org, model, afterId: callIdPrefix(org), untilId, columns: [], pageRecords: pageOfIds };
  const firsts = new FirstScores();
  for await (const segment of segmentsInOrder(database, range, { signal, beforePage: makeWay })) {
    const { _id: segmentId, crm_ids: crmIds } = segment;
    const rows = firsts.rowsOf(crmIds);
    if (firsts.isFull) throw tooManyKnown();
    if (rows.length > 0 && segmentId > afterId) yield { segmentId, rows };
  }
}

const tooManyKnown = (): RunFailure =>
  new RunFailure('The model has scored more leads than a run can tell apart, which are some five million.');

/** Puts first predictions into steps. */
export async function* stepsOf(found: AsyncIterable<FirstRows>): AsyncGenerator<readonly FirstRows[]> {
  let step: FirstRows[] = [];
  let count = 0;
  for await (const each of found) {
    if (count + each.rows.length > rowsPerStep) {
      yield step;
      step = [];
      count = 0;
    }
    step.push(each);
    count += each.rows.length;
  }
  if (count > 0) yield step;
}
