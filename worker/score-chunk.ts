import type { NewestScores } from '../shared/newest-scores/newest-scores.js';
import { type Cell, isAbsent } from '../shared/packed-cell.js';
import {
  type ChunkPart,
  type ChunkPayload,
  type ChunkReply,
  maxProblemsNamed,
  type PartReply,
  type RecordProblem,
  type ScoredPart,
} from '../shared/score-job.js';
import { firstKeptId } from '../shared/store/prediction-slice.js';
import type { PredictionStore } from '../shared/store/predictions.js';
import { explainPart } from './drivers/explain-part.js';
import type { FieldProblem } from './feature-row/feature-row.js';
import { FillIn } from './fill-in.js';
import { type LoadedModel, type ModelRegistry, ModelUnavailable } from './model-registry.js';
import { type AskedLeads, askOfLeads, findKnownLeads, type KnownLead } from './previous-scores.js';

export interface ScoringParts {
  readonly registry: ModelRegistry;
  readonly newest: NewestScores;
  readonly predictions: PredictionStore;
  readonly lookupTimeoutMs: number;
  /** Predictions of older days are forgotten. */
  readonly retentionDays: number;
}

/** Explaining takes seconds with some models: it ends when the signal is aborted. */
interface AbortableScoring extends ScoringParts {
  readonly signal: AbortSignal | undefined;
}

/** A part whose records have been turned into feature rows, and where its rows begin; or why it could not be. */
type FeaturizedPart =
  | { readonly part: ChunkPart; readonly firstRow: number; readonly filled: [row: number, fields: string][] }
  | { readonly refused: PartReply };

/**
 * Begins with a chunk: Redis is asked what it knows of its leads. What this gives does the rest, when it is called: it scores
 * the chunk.
 */
export function beginChunk(
  chunk: ChunkPayload,
  parts: ScoringParts,
): (signal?: AbortSignal) => Promise<ChunkReply> {
  const asked = askOfLeads(chunk, parts.newest);
  return (signal) => scoreChunk(chunk, asked, { ...parts, signal });
}

/**
 * Scores one chunk: what is known of its leads, feature rows, one run of the model, scores, and what moved them.
 * Failures that concern the whole chunk are part of the reply.
 * @throws whatever MongoDB throws when it does not answer; the reason of the signal, when that is aborted
 */
async function scoreChunk(
  chunk: ChunkPayload,
  asked: AskedLeads,
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
  asked: AskedLeads,
  scoring: AbortableScoring,
): Promise<ChunkReply> {
  const { byCrmId: leads, generation } = await findKnownLeads(
    chunk,
    asked,
    leadsLackingFields(chunk, model.knownFields.slotCount),
    {
      newest: scoring.newest,
      predictions: scoring.predictions,
      fieldsOf: (modelId, version) => scoring.registry.fieldsOf(modelId, version),
      timeoutMs: scoring.lookupTimeoutMs,
      keptFromId: firstKeptId(chunk.parts[0]?.now ?? 0, scoring.retentionDays),
    },
  );
  const recordCount = chunk.parts.reduce((count, part) => count + part.rows.length, 0);
  const rows = new Float32Array(recordCount * model.manifest.width);
  const featurized: FeaturizedPart[] = [];
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
    const reply = 'refused' in part ? part.refused : scoredPart(part, { model, leads, raw, generation });
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
  { part, firstRow }: Extract<FeaturizedPart, { part: ChunkPart }>,
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

function lacksFields(cells: readonly Cell[], slotCount: number): boolean {
  for (let slot = 0; slot < slotCount; slot += 1) if (isAbsent(cells[slot])) return true;
  return false;
}

/** What a part is featurized with. */
interface FeaturizeWith {
  readonly model: LoadedModel;
  readonly leads: ReadonlyMap<string, KnownLead>;
  readonly fillIn: FillIn;
  readonly rows: Float32Array;
  readonly firstRow: number;
}

function featurize(part: ChunkPart, by: FeaturizeWith): FeaturizedPart {
  const { featureRow } = by.model;
  const problems = new Problems(part.firstRow);
  const filled = fillPart(part, by, problems);
  // What is refused already is not worth the time that long fields take to read.
  if (problems.count > 0) return { refused: problems.reply };
  let offset = by.firstRow * featureRow.width;
  for (const [index, cells] of part.rows.entries()) {
    const found = featureRow.write({ cells, nowMs: part.now, out: by.rows, offset });
    offset += featureRow.width;
    for (const problem of found ?? []) problems.add(index, problem);
  }
  return problems.count > 0 ? { refused: problems.reply } : { part, firstRow: by.firstRow, filled };
}

/** Fills in the records of a part, in place; tells those that something was filled into. */
function fillPart(
  part: ChunkPart,
  { model, leads, fillIn }: FeaturizeWith,
  problems: Problems,
): [row: number, fields: string][] {
  const filled: [number, string][] = [];
  for (const [index, sent] of part.rows.entries()) {
    const cells = sent as Cell[];
    const stored = leadOf(part, index, leads)?.stored;
    // Most records of a chunk lack nothing, even where some do: what is stored of them need not be parsed.
    if (stored === undefined || !lacksFields(cells, model.knownFields.slotCount)) continue;
    const { text, problem } = fillIn.fill(cells, stored);
    if (text !== undefined) filled.push([index, text]);
    if (problem !== undefined) problems.add(index, problem);
  }
  return filled;
}

/** Collects why records of a part are refused. */
class Problems {
  count = 0;
  private readonly named: RecordProblem[] = [];

  constructor(private readonly firstRow: number) {}

  get reply(): PartReply {
    return { problems: this.named, problemCount: this.count };
  }

  add(index: number, problem: FieldProblem): void {
    this.count += 1;
    if (this.named.length < maxProblemsNamed) this.named.push({ record: this.firstRow + index, ...problem });
  }
}

function scoredPart(
  { part, firstRow, filled }: Extract<FeaturizedPart, { part: ChunkPart }>,
  by: {
    readonly model: LoadedModel;
    readonly leads: ReadonlyMap<string, KnownLead>;
    readonly raw: Float64Array;
    readonly generation: string | undefined;
  },
): PartReply {
  const { model, leads, raw, generation } = by;
  const scores: number[] = [];
  const likelihoods: number[] = [];
  const matched: (0 | 1)[] = [];
  const previous: (number | null)[] = [];
  const warnings: [number, string][] = [];
  for (const [index, cells] of part.rows.entries()) {
    const probability = raw[firstRow + index] ?? Number.NaN;
    if (Number.isNaN(probability)) return notComputable(part.firstRow + index);
    scores.push(model.percentileScore(probability));
    likelihoods.push(model.likelihood(probability));
    const lead = leadOf(part, index, leads);
    matched.push(lead === undefined ? 0 : 1);
    previous.push(lead?.previousScore ?? null);
    const warning = model.recencyGuard(cells, part.now);
    if (warning !== undefined) warnings.push([index, warning]);
  }
  const noted = generation === undefined ? {} : { generation };
  return { scores, likelihoods, matched, previous, ...noted, warnings, filled };
}

/** A model without a rule for missing values (a linear one without `impute`) gives NaN: that record is refused. */
const notComputable = (record: number): PartReply => ({
  problemCount: 1,
  problems: [
    { record, field: '', expected: 'fields from which the model can compute a probability', came: 'NaN' },
  ],
});

function leadOf(
  part: ChunkPart,
  index: number,
  leads: ReadonlyMap<string, KnownLead>,
): KnownLead | undefined {
  const crmId = part.crmIds[index];
  return crmId === null || crmId === undefined ? undefined : leads.get(crmId);
}
