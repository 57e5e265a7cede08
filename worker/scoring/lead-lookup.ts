import type { KnownScore, LatestScores, LatestUnderModel } from '../../shared/latest-scores/latest-scores.js';
import type { KnownFields, StoredFields } from '../../shared/messages/field-slots.js';
import type { ChunkPart, ChunkPayload } from '../../shared/messages/score-job.js';
import type { StoredRecord } from '../../shared/store/calls/lead-lookup.js';
import type { PredictionStore } from '../../shared/store/calls/predictions.js';

/** A lead that the organisation has scored before. */
export interface KnownLead {
  /** The latest score under the chunk's model; null when that model has not scored the lead. */
  readonly previousScore: number | null;
  /** Id of the latest prediction under any model. */
  readonly latestId: string;
  /** The fields of that prediction; undefined when they were not requested or are no longer readable. */
  readonly stored: StoredLead | undefined;
}

/** The stored fields of a lead. */
export interface StoredLead {
  /** Characters of their text; infinite when the text is too long to be read together with the chunk's others. */
  readonly length: number;
  /** Parses the text, once; undefined when the text holds no fields. */
  readonly read: () => StoredFields | undefined;
}

export interface LookupDeps {
  readonly latest: Pick<LatestScores, 'fill'>;
  readonly predictions: Pick<PredictionStore, 'latest' | 'storedRecords'>;
  readonly fieldsOf: (modelId: string, version: string) => Promise<KnownFields | undefined>;
  readonly timeoutMs: number;
  /** Predictions with smaller ids are past retention, whether removed yet or not. */
  readonly keptFromId: string;
}

/** The latest prediction of a lead, and its model. */
interface Latest {
  readonly modelId: string;
  readonly id: string;
}

/** The known leads of a chunk. */
export interface KnownLeads {
  readonly byCrmId: ReadonlyMap<string, KnownLead>;
  /** Epoch of the latest scores under the chunk's model; empty when Redis did not answer, undefined without leads. */
  readonly epoch: string | undefined;
}

/** The leads of a chunk, and the scores that Redis has of them. */
export interface RequestedLeads {
  readonly crmIds: readonly string[];
  /** The chunk's model comes first. Never rejects: when Redis does not answer, all scores are missing. */
  readonly noted: Promise<readonly LatestUnderModel[]>;
}

/** Requests the latest scores of a chunk's leads from Redis, without waiting for them. */
export function requestLatestScores(chunk: ChunkPayload, latest: Pick<LatestScores, 'read'>): RequestedLeads {
  const crmIds = distinctCrmIds(chunk);
  const noted = crmIds.length === 0 ? Promise.resolve([]) : readLatest(chunk, crmIds, latest);
  return { crmIds, noted };
}

/**
 * Looks up the leads of a chunk, under its model and under the organisation's others: in Redis, and in MongoDB where
 * Redis has no entry.
 * @param needsFields the leads whose stored fields are wanted, because some record of theirs lacks a known field
 */
export async function findKnownLeads(
  chunk: ChunkPayload,
  requested: RequestedLeads,
  needsFields: ReadonlySet<string>,
  deps: LookupDeps,
): Promise<KnownLeads> {
  const { crmIds } = requested;
  if (crmIds.length === 0) return { byCrmId: new Map(), epoch: undefined };
  const noted = await requested.noted;
  const scores = await Promise.all(
    noted.map((known) => completed(known, { organisationId: chunk.organisation, crmIds }, deps)),
  );
  const latest = new Map<string, Latest>();
  for (const [index, ofModel] of scores.entries()) {
    const modelId = noted[index]?.modelId ?? chunk.model;
    for (const [place, crmId] of crmIds.entries()) {
      const id = ofModel[place]?.id;
      if (id !== undefined && id > (latest.get(crmId)?.id ?? deps.keptFromId)) latest.set(crmId, { modelId, id });
    }
  }
  const fields = await readFields(chunk, { latest, needsFields }, deps);
  const leads = new Map<string, KnownLead>();
  for (const [place, crmId] of crmIds.entries()) {
    const known = latest.get(crmId);
    if (known === undefined) continue;
    const own = scores[0]?.[place];
    const previousScore = own && own.id > deps.keptFromId ? own.score : null;
    leads.set(crmId, { previousScore, latestId: known.id, stored: fields.get(known.id) });
  }
  return { byCrmId: leads, epoch: noted[0]?.epoch ?? '' };
}

function distinctCrmIds(chunk: ChunkPayload): string[] {
  const ids = new Set<string>();
  for (const part of chunk.parts) {
    for (const crmId of part.crmIds) if (crmId !== null) ids.add(crmId);
  }
  return [...ids];
}

/** Reads the scores from Redis; all missing when it does not answer, so that MongoDB is asked. */
async function readLatest(
  { organisation, model, otherModels }: ChunkPayload,
  crmIds: readonly string[],
  latest: Pick<LatestScores, 'read'>,
): Promise<readonly LatestUnderModel[]> {
  const modelIds = [model, ...otherModels];
  try {
    return await latest.read({ organisationId: organisation, modelIds, crmIds });
  } catch {
    return modelIds.map((modelId) => ({ modelId, epoch: '', scores: [] }));
  }
}

/** The latest scores of all leads under one model: reads the missing ones from MongoDB, and fills them into Redis. */
async function completed(
  { modelId, epoch, scores }: LatestUnderModel,
  { organisationId, crmIds }: { readonly organisationId: string; readonly crmIds: readonly string[] },
  { latest, predictions, timeoutMs }: LookupDeps,
): Promise<readonly KnownScore[]> {
  const unknown = crmIds.filter((_, place) => scores[place] === undefined);
  if (unknown.length === 0) return scores;
  const found = await predictions.latest({ organisationId, modelId, crmIds: unknown, timeoutMs });
  const filled = { organisationId, modelId, epoch, crmIds: unknown, latest: found };
  // If this fails, the next chunk asks MongoDB again.
  if (epoch !== '') latest.fill(filled).catch(() => undefined);
  const byCrmId = new Map(found.map((each) => [each.crmId, each]));
  return crmIds.map((crmId, place) => scores[place] ?? byCrmId.get(crmId) ?? null);
}

/** The stored fields of each wanted lead, by the id of its latest prediction. */
async function readFields(
  chunk: ChunkPayload,
  of: { readonly latest: ReadonlyMap<string, Latest>; readonly needsFields: ReadonlySet<string> },
  { predictions, fieldsOf, timeoutMs }: LookupDeps,
): Promise<ReadonlyMap<string, StoredLead>> {
  const wanted = [...of.needsFields].flatMap((crmId) => of.latest.get(crmId) ?? []);
  const stored = await predictions.storedRecords(
    wanted.map(({ id }) => id),
    timeoutMs,
  );
  const leads = new Map<string, StoredLead>();
  const namesOf = new Map<string, Promise<readonly string[] | undefined>>();
  const slotNames = (modelId: string, version: string) => {
    const key = `${modelId}:${version}`;
    const names = namesOf.get(key) ?? fieldsOf(modelId, version).then((known) => known?.slotNames);
    namesOf.set(key, names);
    return names;
  };
  for (const { id, modelId } of wanted) {
    const record = stored.get(id);
    if (record === undefined) continue;
    const isOwn = modelId === chunk.model && record.version === chunk.version;
    const names = isOwn ? undefined : await slotNames(modelId, record.version);
    if (isOwn || names !== undefined) leads.set(id, storedLead(record, names));
  }
  return leads;
}

function storedLead({ fields }: StoredRecord, names: readonly string[] | undefined): StoredLead {
  if (fields === undefined) return { length: Number.POSITIVE_INFINITY, read: () => undefined };
  let read: { readonly fields: StoredFields | undefined } | undefined;
  return {
    length: fields.length,
    read: () => {
      read ??= { fields: parsedFields(fields, names) };
      return read.fields;
    },
  };
}

function parsedFields(fields: string, names: readonly string[] | undefined): StoredFields | undefined {
  const cells: unknown = JSON.parse(fields);
  if (!Array.isArray(cells)) return undefined;
  return names === undefined ? { slots: cells } : { names, cells };
}

/** The known lead of a record; undefined when the record names none, or an unknown one. */
export function leadOf(part: ChunkPart, index: number, leads: ReadonlyMap<string, KnownLead>): KnownLead | undefined {
  const crmId = part.crmIds[index];
  return crmId === null || crmId === undefined ? undefined : leads.get(crmId);
}
