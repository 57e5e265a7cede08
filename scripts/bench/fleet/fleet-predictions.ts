import { dayMs } from '../../../shared/contract/dates.js';
import { callIdGenerator } from '../../../shared/contract/identifiers.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import { type CallDocument, CallDocuments, callDocuments } from '../../../shared/store/calls/call-documents.js';
import { segmentsOf } from '../../../shared/store/calls/prediction-segment.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import { generateLeads } from '../../leads/lead-generator.js';
import { seededRandom } from '../../leads/seeded-random.js';
import { scattered } from '../load/request-bodies.js';
import { type FleetOrganisation, fleetBundle } from './fleet-accounts.js';

/** Records of the fleet without their crm_id; leads take them in turn. */
export const fleetRecords = (nowMs: number): Readonly<Record<string, unknown>>[] =>
  generateLeads({ seed, count: distinctRecords, now: new Date(nowMs) }).map(
    ({ record: { crm_id: _, ...fields } }) => fields,
  );

/** The crm_id of a lead of an organisation. */
export const crmIdOf = (lead: number): string => `LEAD-${scattered(lead)}`;

const seed = 20_261_123;
const distinctRecords = 2_000;
const callRecords = 500;
const scoresPerLead = 4;
const days = 30;
const documentsPerWrite = 200;
const writesAtOnce = 3;
const saidEvery = 500_000;

interface Scored {
  readonly organisation: FleetOrganisation;
  readonly modelId: string;
  /** Number of the organisation's calls before. */
  readonly earlierCalls: number;
  readonly leads: number;
}

/** A version of the model, and the fields of the fleet's records as its predictions store them. */
interface StoredFields {
  readonly version: string;
  readonly fields: readonly string[];
}

/** @param nowMs Unix ms that the records are made for */
export async function storedFields(bundlePath: string, nowMs: number): Promise<StoredFields> {
  const { manifest } = await fleetBundle(bundlePath);
  const known = compileKnownFields(manifest);
  const names = known.sentNames();
  const fields = fleetRecords(nowMs).map((record) => JSON.stringify(known.pack(record, names)));
  return { version: manifest.version, fields };
}

/**
 * Writes predictions as calls of the last 30 days leave them: calls of 500 records, each of five documents, of all
 * models in turn. Each lead is scored four times.
 * @param options.organisations those with models
 * @param options.spread whether all models of an organisation take turns, instead of the first alone
 */
export async function writePredictions(
  database: Db,
  options: StoredFields & {
    readonly organisations: readonly FleetOrganisation[];
    readonly spread: boolean;
    readonly predictions: number;
    readonly endMs: number;
  },
  say: (line: string) => void,
): Promise<void> {
  const { organisations, spread, predictions, endMs, version, fields } = options;
  const random = seededRandom(seed);
  const newCallId = callIdGenerator();
  const calls = Math.ceil(predictions / callRecords);
  const leads = Math.max(callRecords, Math.ceil(predictions / organisations.length / scoresPerLead));
  const writer = new CallWriter(database);
  for (let call = 0; call < calls; call += 1) {
    const organisation = organisations[call % organisations.length];
    if (organisation === undefined) throw new Error('no organisation has a model');
    const earlierCalls = Math.floor(call / organisations.length);
    const modelId = organisation.modelIds[spread ? earlierCalls % organisation.modelIds.length : 0] ?? '';
    const atMs = Math.floor(endMs - days * dayMs * (1 - call / calls));
    const scored = { organisation, modelId, earlierCalls, leads };
    await writer.add(
      documentsOf(scored, {
        callId: newCallId(atMs, organisation.organisationId),
        atMs,
        version,
        fields,
        score: () => random.integer(0, 100),
      }),
    );
    const written = (call + 1) * callRecords;
    if (written % saidEvery === 0) say(`${written / 1e6} of ${predictions / 1e6} million predictions are written`);
  }
  await writer.end();
}

/** Writes documents of calls in groups, a few groups at once. */
export class CallWriter {
  private readonly store: CallDocuments;
  private readonly writes = new Set<Promise<unknown>>();
  private documents: CallDocument[] = [];

  constructor(database: Db) {
    this.store = new CallDocuments(database);
  }

  async add(documents: readonly CallDocument[]): Promise<void> {
    this.documents.push(...documents);
    if (this.documents.length >= documentsPerWrite) await this.flush();
  }

  /** @throws Error if a document was refused */
  async end(): Promise<void> {
    if (this.documents.length > 0) await this.flush();
    await Promise.all(this.writes);
  }

  private async flush(): Promise<void> {
    if (this.writes.size >= writesAtOnce) await Promise.race(this.writes);
    const write = this.store.insertEach(this.documents, new AbortController().signal).then(({ failed, duplicates }) => {
      if (failed.size + duplicates.length > 0) throw new Error('MongoDB did not take all calls');
      this.writes.delete(write);
    });
    this.writes.add(write);
    this.documents = [];
  }
}

function documentsOf(
  { organisation, modelId, earlierCalls, leads }: Scored,
  call: StoredFields & { readonly callId: string; readonly atMs: number; readonly score: () => number },
): CallDocument[] {
  const { callId, version, fields, score } = call;
  const [at, org] = [new Date(call.atMs), organisation.organisationId];
  const numbers = Array.from({ length: callRecords }, (_, row) => (earlierCalls * callRecords + row) % leads);
  const scores = numbers.map(score);
  const segments = segmentsOf({
    ...{ callId, org, model: modelId, version, at, scores },
    crmIds: numbers.map(crmIdOf),
    likelihoods: scores.map((value) => 200 + 30 * value),
    fields: numbers.map((lead) => fields[lead % fields.length] ?? ''),
  });
  const ofCall = { _id: callId, request_id: callId, org, key: organisation.keyId, bucket: 'live', at } as const;
  return callDocuments(
    { ...ofCall, month: at.toISOString().slice(0, 7), records: callRecords, model: modelId, version },
    segments,
  );
}
