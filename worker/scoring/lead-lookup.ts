import { callIdFloor } from '../../shared/contract/identifiers.js';
import type { CachedLead, CachedLeads, LatestScores } from '../../shared/latest-scores/latest-scores.js';
import type { KnownFields, StoredFields } from '../../shared/messages/field-slots.js';
import type { ChunkPart, ChunkPayload } from '../../shared/messages/score-job.js';
import type { OwnScore, StoredRecord } from '../../shared/store/calls/lead-lookup.js';
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
  readonly predictions: Pick<PredictionStore, 'latest' | 'latestOwn' | 'storedRecords'>;
  readonly fieldsOf: (modelId: string, version: string) => Promise<KnownFields | undefined>;
  readonly timeoutMs: number;
  /** Predictions with smaller ids are past retention, whether removed yet or not. */
  readonly keptFromId: string;
}

/** The known leads of a chunk. */
export interface KnownLeads {
  readonly byCrmId: ReadonlyMap<string, KnownLead>;
  /** Epoch under which the scores of the chunk may be added to the latest scores; see `ScoredPart`. */
  readonly epoch: string | undefined;
}

/** The leads of a chunk, and the scores that Redis has of them. */
export interface RequestedLeads {
  readonly crmIds: readonly string[];
  /** Never rejects: when Redis does not answer, all leads are missing. */
  readonly cached: Promise<CachedLeads>;
}

const nothingCached: CachedLeads = { epoch: '', leads: [] };

/** Requests the latest scores of a chunk's leads from Redis, without waiting for them. */
export function requestLatestScores(chunk: ChunkPayload, latest: Pick<LatestScores, 'read'>): RequestedLeads {
  const crmIds = distinctCrmIds(chunk);
  if (crmIds.length === 0) return { crmIds, cached: Promise.resolve(nothingCached) };
  const { organisation: organisationId, model: modelId, version } = chunk;
  const cached = latest.read({ organisationId, modelId, version, crmIds });
  return { crmIds, cached: cached.catch(() => nothingCached) };
}

/**
 * Looks up the leads of a chunk in Redis. Asks MongoDB for those that Redis does not know, and for the own scores of
 * those that it does not know under the chunk's model. Reads stored fields only where these may fill a gap.
 * @param gaps of the records of each lead; leads without a gap are left out
 */
export async function findKnownLeads(
  chunk: ChunkPayload,
  requested: RequestedLeads,
  gaps: ReadonlyMap<string, number>,
  deps: LookupDeps,
): Promise<KnownLeads> {
  const { crmIds } = requested;
  if (crmIds.length === 0) return { byCrmId: new Map(), epoch: undefined };
  const { predictions, timeoutMs, keptFromId } = deps;
  const { epoch, leads: cached } = await requested.cached;
  const query = { organisationId: chunk.organisation, modelId: chunk.model, timeoutMs };
  const unknown = crmIds.filter((_, index) => cached[index] === undefined);
  const withoutOwn = crmIds.filter((_, index) => cached[index] !== undefined && cached[index].own === undefined);
  // One after the other: the chunks in flight bound the queries that MongoDB gets at once.
  const found = await predictions.latest({ ...query, crmIds: unknown });
  const own = await predictions.latestOwn({ ...query, crmIds: withoutOwn });
  const latest = new Map<string, CachedLead>();
  for (const [index, crmId] of crmIds.entries()) {
    const known = withOwn(cached[index], own.get(crmId)) ?? found.get(crmId);
    if (known !== undefined && known.latestId > keptFromId) latest.set(crmId, known);
  }
  const wanted = [...gaps].flatMap(([crmId, ofRecords]) => {
    const known = latest.get(crmId);
    return known === undefined || (ofRecords & ~(known.gaps ?? 0)) === 0 ? [] : known.latestId;
  });
  const fields = await readFields(chunk, wanted, deps);
  const byCrmId = new Map<string, KnownLead>();
  for (const [crmId, { latestId, own: latestOwn }] of latest) {
    const previousScore = latestOwn !== undefined && latestOwn.id > keptFromId ? latestOwn.score : null;
    byCrmId.set(crmId, { previousScore, latestId, stored: fields.get(latestId) });
  }
  const latestIds = [...[...found.values()].map(({ latestId }) => latestId), ...[...own.values()].map(({ id }) => id)];
  return { byCrmId, epoch: isOvertaken(chunk, latestIds) ? '' : epoch };
}

/** A lead as Redis knows it, with its own score from MongoDB, which may be of an unsettled call. */
function withOwn(cached: CachedLead | undefined, own: OwnScore | undefined): CachedLead | undefined {
  if (cached === undefined || own === undefined) return cached;
  return own.id > cached.latestId ? { latestId: own.id, own } : { ...cached, own };
}

/**
 * Whether MongoDB has a prediction of a lead that is later than the chunk. Redis does not know it, so the chunk's score
 * must not become the latest. A lead that Redis knows needs only its own prediction: the first item of its entry is its
 * latest prediction under any model.
 */
function isOvertaken({ parts, organisation }: ChunkPayload, latestIds: readonly string[]): boolean {
  const earliestId = callIdFloor(Math.min(...parts.map(({ now }) => now)), organisation);
  return latestIds.some((id) => id >= earliestId);
}

function distinctCrmIds(chunk: ChunkPayload): string[] {
  const ids = new Set<string>();
  for (const part of chunk.parts) {
    for (const crmId of part.crmIds) if (crmId !== null) ids.add(crmId);
  }
  return [...ids];
}

/** The stored fields of leads, by the ids of their latest predictions. */
async function readFields(
  chunk: ChunkPayload,
  ids: readonly string[],
  { predictions, fieldsOf, timeoutMs }: LookupDeps,
): Promise<ReadonlyMap<string, StoredLead>> {
  const leads = new Map<string, StoredLead>();
  const namesOf = new Map<string, Promise<readonly string[] | undefined>>();
  const slotNames = (model: string, version: string) => {
    const key = `${model}:${version}`;
    const names = namesOf.get(key) ?? fieldsOf(model, version).then((known) => known?.slotNames);
    namesOf.set(key, names);
    return names;
  };
  for (const [id, record] of await predictions.storedRecords(ids, timeoutMs)) {
    const { model, version } = record;
    const isOwn = model === chunk.model && version === chunk.version;
    const names = isOwn ? undefined : await slotNames(model, version);
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
