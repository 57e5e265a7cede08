import { callIdGenerator } from '../../shared/identifiers.js';
import { callDocuments } from '../../shared/store/call-documents.js';
import { callsCollection } from '../../shared/store/calls-collection.js';
import type { Db } from '../../shared/store/connect.js';
import { OutcomeStore, outcomeId } from '../../shared/store/outcomes.js';
import { bandOf, slicesOf } from '../../shared/store/prediction-slice.js';
import { dayMs } from '../../shared/utc-day.js';
import { type SeededRandom, seededRandom } from '../demo/seeded-random.js';

/** Predictions of one model to be made up, spread evenly over days. */
export interface GradingLoad {
  readonly database: Db;
  readonly organisationId: string;
  readonly modelId: string;
  readonly version: string;
  /** Midnight of the first day, in ms. */
  readonly fromMs: number;
  readonly days: number;
  readonly predictionsADay: number;
  /** Number of the first lead; one prediction in ten is of a lead that was scored before. */
  readonly firstLead: number;
  /** When the outcomes came, by the database's clock; with the predictions when left out. */
  readonly outcomesChangedAt?: Date;
}

/** How often a lead converts, in ten-thousandths: those with high scores more often. */
const likelihoodOf = (band: number): number => 200 + 150 * band;
/** The name that a CRM would give a lead: neighbours in time are not neighbours by name. */
const crmIdOf = (lead: number): string => `LEAD-${String((lead * 7_919) % 10_000_019).padStart(8, '0')}`;

const callRecords = 250;
const documentsAtOnce = 200;
/** As large as what is kept of a record with sixteen fields. */
const fields = JSON.stringify(Array.from({ length: 16 }, (_, index) => `a value ${index}`));

/**
 * Writes predictions, their ledger rows, and an outcome for each lead, straight into the collections: what a year of
 * calls would have left behind. One lead in twenty converts, those with high scores more often.
 * @returns how many leads there are afterwards
 */
export async function writeGradingLoad(load: GradingLoad): Promise<number> {
  const random = seededRandom(load.firstLead + 1);
  const newCallId = callIdGenerator();
  const pending = { calls: [] as object[], outcomes: [] as object[] };
  const flush = async (): Promise<void> => {
    const { database } = load;
    const { calls, outcomes } = pending;
    await Promise.all([
      calls.length > 0 && database.command({ insert: callsCollection, documents: calls }),
      outcomes.length > 0 && database.command({ insert: 'outcomes', documents: outcomes }),
    ]);
    for (const list of Object.values(pending)) list.length = 0;
  };
  let leads = load.firstLead;
  for (let day = 0; day < load.days; day += 1) {
    for (let done = 0; done < load.predictionsADay; done += callRecords) {
      const count = Math.min(callRecords, load.predictionsADay - done);
      const atMs = load.fromMs + day * dayMs + Math.floor((done / load.predictionsADay) * dayMs);
      leads = addCall(load, { pending, random, callId: newCallId(atMs), atMs, count, leads });
      if (pending.calls.length >= documentsAtOnce) await flush();
    }
  }
  await flush();
  return leads;
}

interface CallToAdd {
  readonly pending: {
    readonly calls: object[];
    readonly outcomes: object[];
  };
  readonly random: SeededRandom;
  readonly callId: string;
  readonly atMs: number;
  readonly count: number;
  readonly leads: number;
}

/** Adds one call; gives the number of leads after it. */
function addCall(
  load: GradingLoad,
  { pending, random, callId, atMs, count, leads: before }: CallToAdd,
): number {
  const { organisationId: org, modelId: model, version } = load;
  const at = new Date(atMs);
  let leads = before;
  const crmIds: string[] = [];
  const scores: number[] = [];
  const likelihoods: number[] = [];
  for (let row = 0; row < count; row += 1) {
    const isRepeat = leads > 0 && random.chance(0.1);
    const lead = isRepeat ? random.integer(0, leads - 1) : leads++;
    const crm_id = crmIdOf(lead);
    const score = random.integer(0, 100);
    const likelihood = likelihoodOf(bandOf(score));
    crmIds.push(crm_id);
    scores.push(score);
    likelihoods.push(likelihood);
    if (isRepeat) continue;
    const converted = random.chance(likelihood / 10_000);
    const outcomeAt = new Date(atMs + random.integer(1, 120) * dayMs);
    pending.outcomes.push({
      _id: outcomeId(org, crm_id),
      org,
      crm_id,
      converted,
      at: outcomeAt,
      received_at: outcomeAt,
      changed_at: load.outcomesChangedAt ?? at,
    });
  }
  const call = { callId, org, model, version, at };
  const slices = slicesOf({ ...call, crmIds, scores, likelihoods, fields: crmIds.map(() => fields) });
  const month = at.toISOString().slice(0, 7);
  const counted = { org, key: 'key', bucket: 'live', month, records: count, model, version, at } as const;
  pending.calls.push(...callDocuments({ _id: callId, request_id: callId, ...counted }, slices));
  return leads;
}

/** Lets a day go by on the database's clock since the grades so far: what is written now came clearly later. */
export async function letDayPass({ database, modelId, version }: GradingLoad): Promise<void> {
  const graded = `${modelId}:${version}`;
  const dayEarlier = (field: string) => [{ $set: { [field]: { $subtract: [`$${field}`, dayMs] } } }];
  await database.collection('validation_daily').updateMany({ graded }, dayEarlier('read_at'));
  await database
    .collection<{ _id: string }>('model_validation')
    .updateOne({ _id: graded }, dayEarlier('grade.data_read_at'));
}

/**
 * Says of some leads of earlier days, picked evenly, that they have converted: what a day brings beside its new leads.
 * @param between numbers of the first lead, and of the one behind the last
 * @param at when they converted and when this was said, in ms
 */
export async function convertEarlierLeads(
  { database, organisationId }: Pick<GradingLoad, 'database' | 'organisationId'>,
  {
    between: [first, end],
    count,
    atMs,
  }: {
    readonly between: readonly [number, number];
    readonly count: number;
    readonly atMs: number;
  },
): Promise<void> {
  const at = new Date(atMs);
  const outcomes = Array.from({ length: count }, (_, index) => {
    const lead = first + Math.floor(((index + 0.5) / count) * (end - first));
    return { crmId: crmIdOf(lead), converted: true, at };
  });
  await new OutcomeStore(database).record({ organisationId, outcomes, receivedAt: at });
}
