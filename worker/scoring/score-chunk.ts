import { dayNumber } from '../../shared/contract/dates.js';
import type { LatestScores } from '../../shared/latest-scores/latest-scores.js';
import { certainGaps, gapsOf } from '../../shared/messages/cells.js';
import type {
  ChunkPart,
  ChunkPayload,
  ChunkReply,
  PartReply,
  RecordProblem,
  ScoredPart,
} from '../../shared/messages/score-job.js';
import { freeBytes } from '../../shared/process/free-bytes.js';
import { firstKeptId } from '../../shared/store/calls/prediction-segment.js';
import { explainPart } from '../drivers/explainer.js';
import { type LoadedModel, ModelUnavailable } from '../models/loaded-model.js';
import type { ModelRegistry } from '../models/model-registry.js';
import { noted } from '../pool/crash-note.js';
import { TimeSlices } from '../pool/time-slices.js';
import {
  type ChunkNumbers,
  type FeaturizedPart,
  featurize,
  type Refused,
  withoutFailedRows,
} from './featurize-part.js';
import { fieldReadings } from './field-readings.js';
import {
  findKnownLeads,
  type KnownLead,
  type LookupDeps,
  leadOf,
  type RequestedLeads,
  requestLatestScores,
} from './lead-lookup.js';

export interface ScoringDeps {
  readonly registry: ModelRegistry;
  readonly latest: Pick<LatestScores, 'read'>;
  readonly predictions: LookupDeps['predictions'];
  readonly lookupTimeoutMs: number;
  /** Predictions of older days are ignored. */
  readonly retentionDays: number;
}

/** Explaining some models takes seconds: it ends when the signal is aborted. */
interface AbortableScoring extends ScoringDeps {
  readonly signal: AbortSignal | undefined;
}

/** Requests the latest scores of a chunk's leads from Redis. The function that it returns scores the chunk. */
export function beginChunk(chunk: ChunkPayload, deps: ScoringDeps): (signal?: AbortSignal) => Promise<ChunkReply> {
  const requested = requestLatestScores(chunk, deps.latest);
  return (signal) => scoreChunk(chunk, requested, { ...deps, signal });
}

/**
 * Scores one chunk: looks its leads up, writes feature rows, runs the model once, and computes scores and explanations.
 * A reply holds failures that concern the whole chunk.
 * @throws errors of MongoDB; the reason of the signal when that is aborted
 */
async function scoreChunk(
  chunk: ChunkPayload,
  requested: RequestedLeads,
  scoring: AbortableScoring,
): Promise<ChunkReply> {
  try {
    return await scoring.registry.use(chunk.model, chunk.version, (model) =>
      scoreWith(model, chunk, requested, scoring),
    );
  } catch (error) {
    if (!(error instanceof ModelUnavailable)) throw error;
    return { chunk: chunk.chunk, parts: [], failure: { code: 'model_unavailable', message: error.message } };
  }
}

async function scoreWith(
  model: LoadedModel,
  chunk: ChunkPayload,
  requested: RequestedLeads,
  scoring: AbortableScoring,
): Promise<ChunkReply> {
  const { byCrmId: leads, epoch } = await findKnownLeads(
    chunk,
    requested,
    gapsByLead(chunk, model.knownFields.slotCount),
    {
      predictions: scoring.predictions,
      fieldsOf: (modelId, version) => scoring.registry.fieldsOf(modelId, version),
      timeoutMs: scoring.lookupTimeoutMs,
      keptFromId: firstKeptId(dayNumber(chunk.parts[0]?.now ?? 0) - scoring.retentionDays, chunk.organisation),
    },
  );
  const { width } = model.manifest;
  const recordCount = chunk.parts.reduce((count, part) => count + part.rows.length, 0);
  const rows = new Float32Array(recordCount * width);
  const reading = featurize(chunk.parts, { model, leads, rows });
  const { featurized: read, rowCount } = await new TimeSlices(scoring.signal).run(reading);
  const scored = rows.subarray(0, rowCount * width);
  const raw = rowCount === 0 ? new Float64Array(0) : await model.session.run(scored, rowCount);
  const featurized = read.map((part) => withoutFailed(part, { rows, width, raw }));
  const replies = noted(() => featurized.map((part) => replyOf(part, { model, leads, raw, epoch })));
  const parts: PartReply[] = [];
  for (const [index, reply] of replies.entries()) {
    const part = featurized[index];
    const isScored = part !== undefined && 'part' in part && 'scores' in reply;
    parts.push(isScored ? await explained(part, reply, { model, rows, signal: scoring.signal }) : reply);
  }
  freeBytes(rows);
  return { chunk: chunk.chunk, parts };
}

/** A tolerant part without the records that have no probability. */
function withoutFailed(read: FeaturizedPart | Refused, numbers: ChunkNumbers): FeaturizedPart | Refused {
  if ('refused' in read || read.tolerated === undefined) return read;
  return withoutFailedRows({ ...read, tolerated: read.tolerated }, numbers, notComputable);
}

interface ScoredBy {
  readonly model: LoadedModel;
  readonly leads: ReadonlyMap<string, KnownLead>;
  /** The raw probabilities of the rows of the chunk. */
  readonly raw: Float64Array;
  readonly epoch: string | undefined;
}

/** Computes the reply to a part from the raw probabilities of its rows. */
function replyOf(featurized: FeaturizedPart | Refused, by: ScoredBy): PartReply {
  if ('refused' in featurized) return featurized.refused;
  const { part, firstRow, filled, warnings, slotReadings, tolerated } = featurized;
  const { model, leads, raw, epoch } = by;
  const scores: number[] = [];
  const likelihoods: number[] = [];
  const matched: (0 | 1)[] = [];
  const previous: (number | null)[] = [];
  for (const index of part.rows.keys()) {
    const probability = raw[firstRow + index] ?? Number.NaN;
    if (Number.isNaN(probability)) return { problemCount: 1, problems: [notComputable(part.firstRow + index)] };
    scores.push(model.percentileScore(probability));
    likelihoods.push(model.likelihood(probability));
    const lead = leadOf(part, index, leads);
    matched.push(lead === undefined ? 0 : 1);
    previous.push(lead?.previousScore ?? null);
  }
  const { refused = [] } = tolerated ?? {};
  const readings = fieldReadings(part, slotReadings);
  return {
    ...{ scores, likelihoods, matched, previous, warnings, filled, readings },
    ...(epoch !== undefined && { epoch, gaps: recordedGaps(part, model.knownFields.slotCount) }),
    ...(refused.length > 0 && { refused }),
  };
}

/** Refuses a record: a model without a rule for missing values (a linear one without `impute`) returns NaN. */
const notComputable = (record: number): RecordProblem => ({
  record,
  field: '',
  expected: 'fields from which the model can compute a probability',
  came: 'NaN',
});

/** Adds the explanation to the reply of a part that asks for one. */
async function explained(
  { part, firstRow, readings }: FeaturizedPart,
  reply: ScoredPart,
  by: {
    readonly model: LoadedModel;
    readonly rows: Float32Array;
    readonly signal: AbortSignal | undefined;
  },
): Promise<ScoredPart> {
  if (!part.explain || part.rows.length === 0) return reply;
  const { model, rows, signal } = by;
  const { width } = model.manifest;
  const own = rows.subarray(firstRow * width, (firstRow + part.rows.length) * width);
  const records = { cells: part.rows, rows: own, readings, signal };
  return { ...reply, explained: await explainPart(await model.explanation(), records) };
}

/** The gaps of the records of each lead together: stored fields may fill them. Leads without a gap are left out. */
function gapsByLead({ parts }: ChunkPayload, slotCount: number): ReadonlyMap<string, number> {
  const leads = new Map<string, number>();
  for (const { crmIds, rows } of parts) {
    for (const [index, cells] of rows.entries()) {
      const crmId = crmIds[index];
      if (typeof crmId !== 'string') continue;
      const gaps = gapsOf(cells, slotCount);
      if (gaps !== 0) leads.set(crmId, gaps | (leads.get(crmId) ?? 0));
    }
  }
  return leads;
}

/** The gaps of the rows of a part, with stored fields filled in, as they are recorded. */
const recordedGaps = ({ rows }: Pick<ChunkPart, 'rows'>, slotCount: number): number[] =>
  rows.map((cells) => certainGaps(gapsOf(cells, slotCount)));
