import { dayMs, monthOf } from '../../../shared/contract/dates.js';
import { callIdGenerator } from '../../../shared/contract/identifiers.js';
import { type CallDocument, callDocuments } from '../../../shared/store/calls/call-documents.js';
import { segmentsOf } from '../../../shared/store/calls/prediction-segment.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import { type CallDay, CallDayStore, dayOf, latencyBucket } from '../../../shared/store/console/call-days.js';
import { type SeededRandom, seededRandom } from '../../leads/seeded-random.js';
import { CallWriter, crmIdOf, storedFields } from '../fleet/fleet-predictions.js';
import type { ConsoleOrganisation } from './console-organisation.js';

export const days = 365;
/** Each has some 250 scores when there are ten million. */
export const leads = 40_000;
/** The calls of the last days have one record each: these are the dearest for lists of newest calls and leads. */
const daysOfSingles = 2;
const batchRecords = 500;
/** One record in twenty is scored alone on the other days. */
const singlesShare = 0.05;
const modelsOfKey = 4;
const testCallsPerDay = 20;
const refusedCodes = ['rate_limited', 'invalid_request', 'model_not_found'];
const daysPerNote = 30;

/** One call of the generated year. */
interface GeneratedCall {
  readonly atMs: number;
  readonly records: number;
  readonly key: string;
  readonly model: string;
}

/**
 * Writes a year of calls with their predictions and daily counts, as gateways leave them. A few models score most
 * records. Each of 40,000 leads is scored again and again.
 */
export async function writeYear(
  database: Db,
  organisation: ConsoleOrganisation,
  of: { readonly predictions: number; readonly bundlePath: string; readonly endMs: number },
  say: (line: string) => void,
): Promise<void> {
  const { fields, version } = await storedFields(of.bundlePath, of.endMs);
  const random = seededRandom(1);
  const newCallId = callIdGenerator();
  const writer = new CallWriter(database);
  const org = organisation.organisationId;
  const perDay = Math.round(of.predictions / days);
  let written = 0;
  for (let day = 0; day < days; day += 1) {
    const endMs = of.endMs - (days - 1 - day) * dayMs;
    const calls = callsOf({ random, organisation, perDay, endMs, singles: day >= days - daysOfSingles });
    for (const { atMs, records, key, model } of calls) {
      const lead = Array.from({ length: records }, () => random.integer(0, leads - 1));
      const scores = lead.map(() => random.integer(0, 100));
      const [callId, at] = [newCallId(atMs, org), new Date(atMs)];
      const segments = segmentsOf({
        ...{ callId, org, model, version, at, scores },
        crmIds: lead.map(crmIdOf),
        likelihoods: scores.map((score) => 200 + 30 * score),
        fields: lead.map((_, row) => fields[(written + row) % fields.length] ?? ''),
      });
      const month = monthOf(atMs);
      const counted = { org, key, bucket: 'live', month, records, model, version, at } as const;
      await writer.add(callDocuments({ _id: callId, request_id: callId, ...counted }, segments));
      written += records;
    }
    await writer.add(testCallsOf({ organisation, endMs, newCallId, version }));
    await new CallDayStore(database).add(callDaysOf({ calls, organisation, endMs, random }));
    if ((day + 1) % daysPerNote === 0) say(`${day + 1} of ${days} days are written, ${written} predictions`);
  }
  await writer.end();
}

/** The calls of one day, in the order of their times. */
function callsOf(of: {
  readonly random: SeededRandom;
  readonly organisation: ConsoleOrganisation;
  readonly perDay: number;
  readonly endMs: number;
  readonly singles: boolean;
}): GeneratedCall[] {
  const { random, organisation, perDay, endMs, singles } = of;
  const alone = singles ? perDay : Math.round(perDay * singlesShare);
  const batches = Math.round((perDay - alone) / batchRecords);
  const sizes = [...Array(alone).fill(1), ...Array(batches).fill(batchRecords)] as number[];
  const calls = sizes.map((records): GeneratedCall => {
    const key = random.integer(0, organisation.keyIds.length - 1);
    const model = (key + random.integer(0, modelsOfKey - 1)) % organisation.modelIds.length;
    return {
      ...{ records, atMs: endMs - random.integer(1, dayMs - 1) },
      key: organisation.keyIds[key] ?? '',
      model: organisation.modelIds[model] ?? '',
    };
  });
  return calls.sort((one, other) => one.atMs - other.atMs);
}

/** Calls of the test key, which store no predictions. */
function testCallsOf(of: {
  readonly organisation: ConsoleOrganisation;
  readonly endMs: number;
  readonly newCallId: (atMs: number, org: string) => string;
  readonly version: string;
}): CallDocument[] {
  const { organisation, endMs, newCallId, version } = of;
  return Array.from({ length: testCallsPerDay }, (_, index) => {
    const at = new Date(endMs - index * 60_000);
    const _id = newCallId(at.getTime(), organisation.organisationId);
    return {
      ...{ _id, request_id: _id, org: organisation.organisationId, key: organisation.testKeyId, bucket: 'test', at },
      ...{ month: monthOf(at.getTime()), records: 1, model: organisation.modelIds[0] ?? '', version },
    };
  });
}

/** The counts of a day by gateways: its calls by key and model, and refused calls by key. */
function callDaysOf(of: {
  readonly calls: readonly GeneratedCall[];
  readonly organisation: ConsoleOrganisation;
  readonly endMs: number;
  readonly random: SeededRandom;
}): Omit<CallDay, '_id'>[] {
  const { calls, organisation, endMs, random } = of;
  const org = organisation.organisationId;
  type Counts = Omit<CallDay, '_id' | 'calls' | 'records' | 'latency'> & {
    calls: number;
    records: number;
    latency: Record<string, number>;
  };
  const byId = new Map<string, Counts>();
  for (const { atMs, key, model, records } of calls) {
    const day = dayOf(atMs);
    const id = `${key} ${model} ${day.getTime()}`;
    const empty = { org, key, bucket: 'live', model, day, calls: 0, records: 0 } as const;
    const counts = byId.get(id) ?? { ...empty, latency: {}, last_at: new Date(atMs) };
    counts.calls += 1;
    counts.records += records;
    const bucket = latencyBucket(5 + random.exponential(20));
    counts.latency[bucket] = (counts.latency[bucket] ?? 0) + 1;
    byId.set(id, counts);
  }
  const [day, last_at] = [dayOf(endMs), new Date(endMs)];
  const refused = organisation.keyIds.map((key) => {
    const errors = Object.fromEntries(refusedCodes.map((code) => [code, random.integer(1, 30)]));
    const count = Object.values(errors).reduce((sum, each) => sum + each, 0);
    return { org, key, bucket: 'live', model: '', day, calls: count, records: 0, errors, last_at } as const;
  });
  const { testKeyId: key } = organisation;
  const tested = { calls: testCallsPerDay, records: testCallsPerDay, latency: { 12: testCallsPerDay } };
  const test = { org, key, bucket: 'test', model: organisation.modelIds[0] ?? '', day, ...tested, last_at } as const;
  return [...byId.values(), ...refused, test];
}
