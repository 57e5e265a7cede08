import type { KnownFields, StoredFields } from '../shared/known-fields.js';
import type { ChunkPayload } from '../shared/score-job.js';
import type { NewestPredictions, PredictionStore } from '../shared/store/predictions.js';

/** What the organisation already knows of one lead. */
export interface KnownLead {
  /** The newest score under the model that is asked for; null when that model has not scored it. */
  previousScore: number | null;
  /** `_id` of the newest prediction under any model. */
  newestId: string;
  /** The fields of that prediction; undefined when nobody asked for them or they cannot be read any more. */
  readFields: (() => StoredFields | undefined) | undefined;
}

export interface LookupOptions {
  readonly withFields: boolean;
  readonly fieldsOf: FieldsOf;
  readonly timeoutMs: number;
}

type FieldsOf = (modelId: string, version: string) => Promise<KnownFields | undefined>;

/**
 * Looks up what is known of the leads of a chunk: one query under its model and, where the organisation has others, one
 * for each of these.
 * @param options.withFields whether the stored fields are needed: some record of the chunk lacks a known field
 * @returns known leads by crm_id
 */
export async function findKnownLeads(
  predictions: PredictionStore,
  chunk: ChunkPayload,
  options: LookupOptions,
): Promise<ReadonlyMap<string, KnownLead>> {
  const crmIds = distinctCrmIds(chunk);
  const leads = new Map<string, KnownLead>();
  if (crmIds.length === 0) return leads;
  const { withFields, timeoutMs } = options;
  const under = (modelId: string) =>
    predictions.newest({ organisationId: chunk.organisation, modelId, crmIds, withFields, timeoutMs });
  const modelIds = [chunk.model, ...chunk.otherModels];
  const found = await Promise.all(modelIds.map(under));
  for (const [index, newest] of found.entries()) {
    const modelId = modelIds[index] ?? chunk.model;
    const fields = withFields
      ? await fieldsByVersion(modelId, newest, options.fieldsOf)
      : new Map<string, KnownFields>();
    const isSameModel = modelId === chunk.model;
    addNewest(leads, newest, {
      fields,
      isSameModel,
      currentVersion: isSameModel ? chunk.version : undefined,
    });
  }
  return leads;
}

function distinctCrmIds(chunk: ChunkPayload): string[] {
  const ids = new Set<string>();
  for (const part of chunk.parts) {
    for (const crmId of part.crmIds) if (crmId !== null) ids.add(crmId);
  }
  return [...ids];
}

async function fieldsByVersion(
  modelId: string,
  newest: NewestPredictions,
  fieldsOf: FieldsOf,
): Promise<Map<string, KnownFields>> {
  const byVersion = new Map<string, KnownFields>();
  for (const version of new Set(newest.versions)) {
    const fields = await fieldsOf(modelId, version);
    if (fields !== undefined) byVersion.set(version, fields);
  }
  return byVersion;
}

function addNewest(
  leads: Map<string, KnownLead>,
  newest: NewestPredictions,
  under: {
    readonly fields: ReadonlyMap<string, KnownFields>;
    readonly isSameModel: boolean;
    readonly currentVersion: string | undefined;
  },
): void {
  for (const [index, crmId] of newest.crmIds.entries()) {
    const id = newest.ids[index] ?? '';
    const packed = newest.fields?.[index];
    const version = newest.versions[index] ?? '';
    const slotNames = version === under.currentVersion ? undefined : under.fields.get(version)?.slotNames;
    const isReadable = packed !== undefined && (slotNames !== undefined || version === under.currentVersion);
    const readFields = isReadable ? () => readStored(packed, slotNames) : undefined;
    const known = leads.get(crmId);
    const previousScore = under.isSameModel ? (newest.scores[index] ?? null) : null;
    if (known === undefined) {
      leads.set(crmId, { previousScore, newestId: id, readFields });
    } else if (id > known.newestId) {
      known.newestId = id;
      known.readFields = readFields;
    }
  }
}

function readStored(packed: string, names: readonly string[] | undefined): StoredFields | undefined {
  const cells: unknown = JSON.parse(packed);
  if (!Array.isArray(cells)) return undefined;
  return names === undefined ? { slots: cells } : { names, cells };
}
