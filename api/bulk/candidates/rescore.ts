import type { KnownFields } from '../../../shared/messages/field-slots.js';
import {
  nothingKnown,
  type OutgoingPart,
  type RecordProblem,
  type ScoredPart,
} from '../../../shared/messages/score-job.js';
import type { PredictionSegment } from '../../../shared/store/calls/prediction-segment.js';
import type { CandidateRun } from '../../../shared/store/models/candidate-runs.js';
import { type CandidateSegment, candidateSegmentId } from '../../../shared/store/models/candidate-scores.js';
import type { WorkspaceCache } from '../../admission/workspace-cache.js';
import type { Dispatcher } from '../../dispatch/dispatcher.js';
import { maxPartCharacters } from '../../dispatch/parts.js';
import { cellsUnder } from '../rows/stored-rows.js';
import type { FirstRows } from './first-rows.js';
import { type RefusedRows, RunFailure, VersionFailure } from './run-failure.js';

/** The columns of a segment that a run reads. */
export type RecordedSegment = Pick<
  PredictionSegment,
  '_id' | 'version' | 'at' | 'arrived_at' | 'crm_ids' | 'scores' | 'likelihoods' | 'fields'
>;

export interface RescoreDeps {
  readonly dispatcher: Pick<Dispatcher, 'scoreParts'>;
  readonly workspaces: Pick<WorkspaceCache, 'manifest'>;
  readonly requestTimeoutMs: number;
}

/** A run, as its steps need it. */
export interface RunScope {
  readonly run: CandidateRun;
  /** Leads of later times are judged. */
  readonly seenUntilMs: number;
}

export interface RescoredStep {
  readonly segments: readonly CandidateSegment[];
  readonly refused: RefusedRows;
}

/** A recorded row of a segment. */
interface Row {
  readonly segment: RecordedSegment;
  readonly crmId: string;
  readonly index: number;
  readonly fields: string;
}

interface Score {
  readonly score: number;
  readonly likelihood: number;
}

/** One entry a row: its score, or why the version refused it. */
type Answers = readonly (Score | Pick<RecordProblem, 'field' | 'expected'>)[];

/**
 * Scores the rows of a step with the candidate, and with the current version where another one has scored them.
 * @param recorded the segments of the step. Rows that were erased meanwhile are left out
 * @throws VersionFailure; RunFailure when a version is no longer stored
 */
export async function rescore(
  step: readonly FirstRows[],
  recorded: ReadonlyMap<string, RecordedSegment>,
  { run, seenUntilMs }: RunScope,
  deps: RescoreDeps,
): Promise<RescoredStep> {
  const rows = step.flatMap(({ segmentId, rows: indexes }) => rowsOf(recorded.get(segmentId), indexes));
  const answers = await scoredBy(run.version, rows, run, deps);
  const scored = rows.flatMap((row, index) => {
    const answer = answers[index];
    return answer !== undefined && 'score' in answer ? [{ row, answer }] : [];
  });
  const others = scored.filter(({ row }) => row.segment.version !== run.base);
  const ofBase =
    run.base === run.version
      ? others.map(({ answer }) => answer)
      : await scoredBy(
          run.base,
          others.map(({ row }) => row),
          run,
          deps,
        );
  const baseOf = new Map(others.map(({ row }, index) => [row, ofBase[index]]));
  const bySegment = new Map<RecordedSegment, (typeof scored)[number][]>();
  for (const each of scored) {
    const own = bySegment.get(each.row.segment);
    if (own === undefined) bySegment.set(each.row.segment, [each]);
    else own.push(each);
  }
  const segments = [...bySegment].map(([segment, own]): CandidateSegment => {
    const base = own.map(({ row }) => {
      const answer = baseOf.get(row);
      if (answer === undefined) return recordedScore(row);
      return 'score' in answer ? answer : undefined;
    });
    return {
      _id: candidateSegmentId(segment._id, run.version),
      ...{ org: run.org, model: run.model, version: run.version, at: segment.at, arrived_at: segment.arrived_at },
      recorded_by: segment.version,
      crm_ids: own.map(({ row }) => row.crmId),
      scores: own.map(({ answer }) => answer.score),
      likelihoods: own.map(({ answer }) => answer.likelihood),
      base_scores: base.map((each) => each?.score ?? null),
      base_likelihoods: base.map((each) => each?.likelihood ?? null),
      records: own.length,
      ...(segment.at.getTime() <= seenUntilMs && { seen: true as const }),
    };
  });
  return { segments, refused: refusedOf(answers) };
}

function rowsOf(segment: RecordedSegment | undefined, indexes: readonly number[]): Row[] {
  if (segment === undefined) return [];
  return indexes.flatMap((index) => {
    const [crmId, fields] = [segment.crm_ids[index], segment.fields[index]];
    return typeof crmId === 'string' && typeof fields === 'string' ? [{ segment, crmId, index, fields }] : [];
  });
}

const recordedScore = ({ segment: { scores, likelihoods }, index }: Row): Score => ({
  score: scores[index] ?? 0,
  likelihood: likelihoods[index] ?? 0,
});

function refusedOf(answers: Answers): RefusedRows {
  const problems = answers.flatMap((answer) => ('score' in answer ? [] : [answer]));
  const withoutFields = problems.filter(({ expected }) => expected === nothingKnown.expected).length;
  return { count: problems.length, withoutFields, first: problems[0] };
}

/** Scores recorded rows with a version. */
async function scoredBy(
  version: string,
  rows: readonly Row[],
  { org, model }: CandidateRun,
  { dispatcher, workspaces, requestTimeoutMs }: RescoreDeps,
): Promise<Answers> {
  if (rows.length === 0) return [];
  const fieldsOf = new Map<string, KnownFields>();
  for (const each of new Set([version, ...rows.map(({ segment }) => segment.version)])) {
    const compiled = await workspaces.manifest(model, each);
    if (compiled === undefined) throw new RunFailure(`Version "${each}" of the model is no longer stored.`);
    fieldsOf.set(each, compiled.knownFields);
  }
  const knownFields = fieldsOf.get(version) as KnownFields;
  const texts = rows.map(({ segment, fields }) =>
    segment.version === version
      ? fields
      : cellsUnder(knownFields, { names: fieldsOf.get(segment.version)?.slotNames ?? [], text: fields }),
  );
  const parts = partsOf(rows, texts);
  const target = { organisationId: org, model: { id: model, version, knownFields } };
  const sent = { target, lane: 'bulk', parts, timeoutMs: requestTimeoutMs } as const;
  const replies = await dispatcher.scoreParts(sent).catch((error: unknown) => {
    throw new VersionFailure(version, error);
  });
  return parts.flatMap((part, index) => answersOf(part, replies[index]));
}

/** A part a segment, dated as its call. Rows of more than a million characters together are several parts. */
function partsOf(rows: readonly Row[], texts: readonly string[]): OutgoingPart[] {
  const parts: { readonly segment: RecordedSegment; readonly firstRow: number; readonly rows: string[] }[] = [];
  let characters = 0;
  for (const [index, { segment }] of rows.entries()) {
    const text = texts[index] ?? '';
    characters += text.length;
    const last = parts.at(-1);
    if (last?.segment === segment && characters <= maxPartCharacters) last.rows.push(text);
    else {
      parts.push({ segment, firstRow: index, rows: [text] });
      characters = text.length;
    }
  }
  return parts.map(({ segment, firstRow, rows: own }) => ({
    now: segment.at.getTime(),
    explain: false,
    tolerant: true,
    firstRow,
    crmIds: own.map(() => null),
    rows: own,
  }));
}

function answersOf({ firstRow, rows }: OutgoingPart, reply: ScoredPart | undefined): Answers {
  const problems = new Map(reply?.refused?.map((problem) => [problem.record - firstRow, problem]));
  let next = 0;
  return rows.map((_, row) => {
    const problem = problems.get(row);
    if (problem !== undefined) return problem;
    const answer = { score: reply?.scores[next] ?? 0, likelihood: reply?.likelihoods[next] ?? 0 };
    next += 1;
    return answer;
  });
}
