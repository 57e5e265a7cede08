import type { UsageReport } from '../../shared/contract/plans.js';
import type { Verdict } from '../../shared/contract/verdict.js';
import type { RecordProblem, ScoredPart } from '../../shared/messages/score-job.js';
import type { ReadInput } from './input/input-report.js';
import type { ScoringCall } from './scoring-call.js';

/** The scores of a call, by column, in the order of its accepted records. */
export interface ScoredRows {
  readonly parts: readonly ScoredPart[];
  /** One entry an accepted record: its known fields by slot, as JSON, with stored fields filled in. */
  readonly fields: readonly string[];
  /** The first problem of each refused record, in order. Empty unless the call is tolerant; see `acceptedCall`. */
  readonly refused: readonly RecordProblem[];
  /** Only for a call that asks for a report on its input. */
  readonly input?: ReadInput;
}

/** The result of a scored call, before it is written as JSON. */
export interface ScoreOutcome {
  readonly call: ScoringCall;
  /** The version that scored all rows: a call is admitted with one version. */
  readonly modelVersion: string;
  readonly rows: ScoredRows;
  readonly usage: UsageReport;
  readonly verdict: Verdict;
  /** Sentences about the request. */
  readonly notices: readonly string[];
}

/** Writes an outcome as the JSON of one endpoint. */
export interface WriteReply {
  (outcome: ScoreOutcome): string;
  /** Writes the rows in steps beforehand. A long reply would delay other calls. */
  readonly prepare?: (scored: Pick<ScoreOutcome, 'call' | 'rows'>) => Promise<void>;
}

/**
 * The call with only its accepted records, as it is recorded and counted after a tolerant call was scored.
 * @returns the same object when no record is refused
 */
export function acceptedCall(call: ScoringCall, { refused }: Pick<ScoredRows, 'refused'>): ScoringCall {
  if (refused.length === 0) return call;
  const dropped = new Set(refused.map(({ record }) => record));
  const indexes = [...call.records.keys()].filter((index) => !dropped.has(index));
  return {
    ...call,
    records: call.records.filter((_, index) => !dropped.has(index)),
    nameOfRecord: (index) => call.nameOfRecord(indexes[index] ?? index),
  };
}
