import type { LatestScores } from '../../shared/latest-scores/latest-scores.js';
import type { ChunkPayload, ChunkReply, PartReply, ScoredPart } from '../../shared/messages/score-job.js';
import { firstKeptId } from '../../shared/store/calls/prediction-slice.js';
import type { PredictionStore } from '../../shared/store/calls/predictions.js';
import { explainPart } from '../drivers/explainer.js';
import { type LoadedModel, ModelUnavailable } from '../models/loaded-model.js';
import type { ModelRegistry } from '../models/model-registry.js';
import { type FeaturizedPart, featurize, lacksFields } from './featurize-part.js';
import { findKnownLeads, type RequestedLeads, requestLatestScores } from './lead-lookup.js';
import { scoredPart } from './scored-part.js';
import { FillIn } from './stored-fields.js';

export interface ScoringParts {
  readonly registry: ModelRegistry;
  readonly latest: LatestScores;
  readonly predictions: PredictionStore;
  readonly lookupTimeoutMs: number;
  /** Predictions of older days are forgotten. */
  readonly retentionDays: number;
}

/** Explaining takes seconds with some models: it ends when the signal is aborted. */
interface AbortableScoring extends ScoringParts {
  readonly signal: AbortSignal | undefined;
}

/**
 * Begins with a chunk: Redis is asked what it knows of its leads. What this gives does the rest, when it is called: it scores
 * the chunk.
 */
export function beginChunk(
  chunk: ChunkPayload,
  parts: ScoringParts,
): (signal?: AbortSignal) => Promise<ChunkReply> {
  const asked = requestLatestScores(chunk, parts.latest);
  return (signal) => scoreChunk(chunk, asked, { ...parts, signal });
}

/**
 * Scores one chunk: what is known of its leads, feature rows, one run of the model, scores, and what moved them.
 * Failures that concern the whole chunk are part of the reply.
 * @throws whatever MongoDB throws when it does not answer; the reason of the signal, when that is aborted
 */
async function scoreChunk(
  chunk: ChunkPayload,
  asked: RequestedLeads,
  parts: AbortableScoring,
): Promise<ChunkReply> {
  try {
    return await parts.registry.use(chunk.model, chunk.version, (model) =>
      scoreWith(model, chunk, asked, parts),
    );
  } catch (error) {
    if (!(error instanceof ModelUnavailable)) throw error;
    return { chunk: chunk.chunk, parts: [], failure: { code: 'model_unavailable', message: error.message } };
  }
}

async function scoreWith(
  model: LoadedModel,
  chunk: ChunkPayload,
  asked: RequestedLeads,
  scoring: AbortableScoring,
): Promise<ChunkReply> {
  const { byCrmId: leads, epoch } = await findKnownLeads(
    chunk,
    asked,
    leadsLackingFields(chunk, model.knownFields.slotCount),
    {
      latest: scoring.latest,
      predictions: scoring.predictions,
      fieldsOf: (modelId, version) => scoring.registry.fieldsOf(modelId, version),
      timeoutMs: scoring.lookupTimeoutMs,
      keptFromId: firstKeptId(chunk.parts[0]?.now ?? 0, scoring.retentionDays),
    },
  );
  const recordCount = chunk.parts.reduce((count, part) => count + part.rows.length, 0);
  const rows = new Float32Array(recordCount * model.manifest.width);
  const featurized: ReturnType<typeof featurize>[] = [];
  const fillIn = new FillIn(model.knownFields);
  let row = 0;
  for (const part of chunk.parts) {
    const done = featurize(part, { model, leads, fillIn, rows, firstRow: row });
    featurized.push(done);
    if ('part' in done) row += part.rows.length;
  }
  const raw =
    row === 0
      ? new Float64Array(0)
      : await model.session.run(rows.subarray(0, row * model.manifest.width), row);
  const parts: PartReply[] = [];
  for (const part of featurized) {
    const reply = 'refused' in part ? part.refused : scoredPart(part, { model, leads, raw, epoch });
    parts.push(
      'part' in part && 'scores' in reply
        ? await explained(part, reply, { model, rows, signal: scoring.signal })
        : reply,
    );
  }
  return { chunk: chunk.chunk, parts };
}

/** The reply to a part, with what moved its scores when that is asked for. */
async function explained(
  { part, firstRow }: FeaturizedPart,
  reply: ScoredPart,
  {
    model,
    rows,
    signal,
  }: {
    readonly model: LoadedModel;
    readonly rows: Float32Array;
    readonly signal: AbortSignal | undefined;
  },
): Promise<ScoredPart> {
  if (!part.explain) return reply;
  const { width } = model.manifest;
  const own = rows.subarray(firstRow * width, (firstRow + part.rows.length) * width);
  const records = { cells: part.rows, rows: own, nowMs: part.now, signal };
  return { ...reply, explained: await explainPart(await model.explanation(), records) };
}

/** The leads of which some record leaves a known field out, so that stored fields may fill it in. */
function leadsLackingFields({ parts }: ChunkPayload, slotCount: number): ReadonlySet<string> {
  const leads = new Set<string>();
  for (const { crmIds, rows } of parts) {
    for (const [index, cells] of rows.entries()) {
      const crmId = crmIds[index];
      if (typeof crmId === 'string' && lacksFields(cells, slotCount)) leads.add(crmId);
    }
  }
  return leads;
}
