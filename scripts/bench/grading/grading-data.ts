import { dayMs } from '../../../shared/contract/dates.js';
import { callIdGenerator } from '../../../shared/contract/identifiers.js';
import { callDocuments } from '../../../shared/store/calls/call-documents.js';
import { bandOf, callsCollection, slicesOf } from '../../../shared/store/calls/prediction-slice.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import { OutcomeStore, outcomeId } from '../../../shared/store/validation/outcomes.js';
import { type SeededRandom, seededRandom } from '../../leads/seeded-random.js';

/** Generated predictions of one model, spread evenly over days. */
export interface GradingLoad {
  readonly database: Db;
  readonly organisationId: string;
  readonly modelId: string;
  readonly version: string;
  /** Midnight of the first day, Unix ms. */
  readonly fromMs: number;
  readonly days: number;
  readonly predictionsPerDay: number;
  /** Number of the first new lead. One prediction in ten is of an earlier lead. */
  readonly firstLead: number;
  /** Arrival of the outcomes by the database's clock. Default: with the predictions. */
  readonly outcomesChangedAt?: Date;
}

/** Likelihood of a conversion in ten-thousandths; it grows with the score band. */
const likelihoodOf = (band: number): number => 200 + 150 * band;
/** Spreads the crm_ids of successive leads over the index, as in a CRM. */
const crmIdOf = (lead: number): string => `LEAD-${String((lead * 7_919) % 10_000_019).padStart(8, '0')}`;

const callRecords = 250;
const callsPerWrite = 200;
/** Stored fields of a record with sixteen fields. */
const fields = JSON.stringify(Array.from({ length: 16 }, (_, index) => `a value ${index}`));

/**
 * Writes predictions, ledger rows and one outcome per lead into the collections, as a year of calls leaves them.
 * @returns number of leads afterwards
 */
export async function writeGradingLoad(load: GradingLoad): Promise<number> {
  const { database, fromMs, days, predictionsPerDay, firstLead } = load;
  const random = seededRandom(firstLead + 1);
  const newCallId = callIdGenerator();
  let calls: object[] = [];
  let outcomes: object[] = [];
  const flush = async (): Promise<void> => {
    const inserts = [callsCollection, 'outcomes'].map((insert, index) => ({
      insert,
      documents: [calls, outcomes][index] ?? [],
    }));
    const filled = inserts.filter(({ documents }) => documents.length > 0);
    await Promise.all(filled.map((insert) => database.command(insert)));
    [calls, outcomes] = [[], []];
  };
  let leads = firstLead;
  for (let day = 0; day < days; day += 1) {
    for (let done = 0; done < predictionsPerDay; done += callRecords) {
      const count = Math.min(callRecords, predictionsPerDay - done);
      const atMs = fromMs + day * dayMs + Math.floor((done / predictionsPerDay) * dayMs);
      const call = generatedCall(load, { random, callId: newCallId(atMs), atMs, count, leads });
      leads = call.leads;
      calls.push(...call.documents);
      outcomes.push(...call.outcomes);
      if (calls.length >= callsPerWrite) await flush();
    }
  }
  await flush();
  return leads;
}

function generatedCall(
  { organisationId: org, modelId: model, version, outcomesChangedAt }: GradingLoad,
  call: {
    readonly random: SeededRandom;
    readonly callId: string;
    readonly atMs: number;
    readonly count: number;
    /** Leads before the call. */
    readonly leads: number;
  },
) {
  const { random, callId, atMs, count } = call;
  const at = new Date(atMs);
  const outcomes: object[] = [];
  let { leads } = call;
  const rows = Array.from({ length: count }, () => {
    const isRepeat = leads > 0 && random.chance(0.1);
    const crm_id = crmIdOf(isRepeat ? random.integer(0, leads - 1) : leads++);
    const score = random.integer(0, 100);
    const likelihood = likelihoodOf(bandOf(score));
    if (isRepeat) return { crm_id, score, likelihood };
    const converted = random.chance(likelihood / 10_000);
    const outcomeAt = new Date(atMs + random.integer(1, 120) * dayMs);
    const times = { at: outcomeAt, received_at: outcomeAt, changed_at: outcomesChangedAt ?? at };
    outcomes.push({ _id: outcomeId(org, crm_id), org, crm_id, converted, ...times });
    return { crm_id, score, likelihood };
  });
  const slices = slicesOf({
    ...{ callId, org, model, version, at },
    crmIds: rows.map(({ crm_id }) => crm_id),
    scores: rows.map(({ score }) => score),
    likelihoods: rows.map(({ likelihood }) => likelihood),
    fields: rows.map(() => fields),
  });
  const month = at.toISOString().slice(0, 7);
  const counted = { org, key: 'key', bucket: 'live', month, records: count, model, version, at } as const;
  return {
    leads,
    outcomes,
    documents: callDocuments({ _id: callId, request_id: callId, ...counted }, slices),
  };
}

/** Moves the grades so far back by a day on the database's clock, so that later writes are newer by a day. */
export async function letDayPass({ database, modelId, version }: GradingLoad): Promise<void> {
  const graded = `${modelId}:${version}`;
  const dayEarlier = (field: string) => [{ $set: { [field]: { $subtract: [`$${field}`, dayMs] } } }];
  await database.collection('validation_daily').updateMany({ graded }, dayEarlier('read_at'));
  await database
    .collection<{ _id: string }>('model_validation')
    .updateOne({ _id: graded }, dayEarlier('grade.data_read_at'));
}

/**
 * Records conversions of evenly picked earlier leads.
 * @param options.from number of the first lead
 * @param options.to number behind the last lead
 * @param options.atMs time of the conversions and of their report, Unix ms
 */
export async function convertEarlierLeads(
  { database, organisationId }: Pick<GradingLoad, 'database' | 'organisationId'>,
  options: { readonly from: number; readonly to: number; readonly count: number; readonly atMs: number },
): Promise<void> {
  const { from, to, count, atMs } = options;
  const at = new Date(atMs);
  const outcomes = Array.from({ length: count }, (_, index) => {
    const lead = from + Math.floor(((index + 0.5) / count) * (to - from));
    return { crmId: crmIdOf(lead), converted: true, at };
  });
  await new OutcomeStore(database).record({ organisationId, outcomes, receivedAt: at });
}
