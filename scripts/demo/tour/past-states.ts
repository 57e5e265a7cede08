import { dayMs } from '../../../shared/contract/dates.js';
import type { Cell } from '../../../shared/messages/cells.js';
import type { LoadedModel } from '../../../worker/models/loaded-model.js';
import type { GeneratedLead } from '../../leads/lead-generator.js';
import { isoSecond, type LeadRecord } from '../../leads/lead-record.js';
import { seniorities } from '../../leads/lead-vocabulary.js';
import { type SeededRandom, seededRandom } from '../../leads/seeded-random.js';
import type { ScoredLead } from './figures.js';

/** The record of a lead from a time on. */
interface State {
  readonly fromMs: number;
  readonly record: LeadRecord;
}

/** The states of some leads, earliest first. Other leads have had their record all the time. */
export type PastStates = ReadonlyMap<GeneratedLead, readonly State[]>;

/** The made-up past. */
interface Span {
  readonly fromMs: number;
  readonly nowMs: number;
}

/** Days of the made-up past. */
export const daysBack = 121;

export const pastSpan = (nowMs: number): Span => ({ fromMs: nowMs - daysBack * dayMs, nowMs });

/**
 * Makes up earlier states of the leads that existed before the past begins, and were active in it. Busy leads had fewer
 * visits before, and quiet ones had more. The last state of a lead is its record.
 */
export function pastStates(leads: readonly GeneratedLead[], span: Span): PastStates {
  const random = seededRandom(leads.length);
  const moving = leads.flatMap((lead) => {
    const states = statesOf(lead.record, span, random);
    return states === undefined ? [] : [[lead, states] as const];
  });
  return new Map(moving);
}

/** Less active leads show no more than one state. */
const leastActiveDays = 20;
const busyVisits = 3;

/** Each state begins with an activity of the lead, the last one with the activity that the record names. */
function statesOf(record: LeadRecord, { fromMs, nowMs }: Span, random: SeededRandom): State[] | undefined {
  const createdMs = Date.parse(String(record['Created Date']));
  const lastMs = Date.parse(String(record['Last Activity Date']));
  const visits = record['Website Visits (30d)'];
  const isActive = lastMs >= fromMs + leastActiveDays * dayMs && lastMs <= nowMs;
  // An untidy cell may not be a number or a date.
  if (!(createdMs < fromMs) || !isActive || typeof visits !== 'number') return undefined;
  const earlier = random.integer(2, 3);
  const isBusy = visits >= busyVisits || record['Demo Requested'] === true;
  const before = isBusy ? lessActive : moreActive;
  const isPromoted = random.chance(0.3);
  const states = Array.from({ length: earlier }, (_, step) => {
    const share = (step - 0.4 + 0.8 * random.uniform()) / earlier;
    const atMs = step === 0 ? createdMs + (fromMs - createdMs) * random.uniform() : fromMs + (lastMs - fromMs) * share;
    const fields = {
      'Last Activity Date': isoSecond(new Date(atMs)),
      ...before(record, { steps: earlier - step, visits, random }),
      ...(step === 0 && isPromoted ? junior(record) : {}),
    };
    return { fromMs: atMs, record: { ...record, ...fields } };
  });
  return [...states, { fromMs: lastMs, record }];
}

interface Distance {
  /** Changes from a state to the record. */
  readonly steps: number;
  readonly visits: number;
  readonly random: SeededRandom;
}

function lessActive(record: LeadRecord, { steps, visits, random }: Distance): LeadRecord {
  const fewer = Math.max(0, visits - steps * random.integer(1, 4));
  const opens = record['Email Opens'];
  return {
    'Website Visits (30d)': fewer,
    ...(fewer === 0 ? { 'Pages Per Visit': null } : {}),
    ...(typeof opens === 'number' ? { 'Email Opens': Math.max(0, opens - steps * random.integer(0, 2)) } : {}),
    ...(record['Demo Requested'] === true ? { 'Demo Requested': false } : {}),
  };
}

function moreActive(record: LeadRecord, { steps, visits, random }: Distance): LeadRecord {
  const opens = record['Email Opens'];
  return {
    'Website Visits (30d)': visits + steps * random.integer(2, 5),
    'Pages Per Visit': random.integer(20, 60) / 10,
    'Email Opens': (typeof opens === 'number' ? opens : 0) + steps * random.integer(1, 3),
    ...(record['Email Opt Out'] === true ? { 'Email Opt Out': false } : {}),
  };
}

/** One rank below, where the record names a rank. */
function junior(record: LeadRecord): LeadRecord {
  const rank = seniorities.findIndex(({ value }) => value === record.Seniority);
  const below = seniorities[rank - 1];
  return below === undefined ? {} : { Seniority: below.value };
}

/** A record of a past call as the service stores it. */
export interface PastRow {
  readonly crmId: string;
  /** Cells as JSON. */
  readonly fields: string;
  readonly score: number;
  /** In ten-thousandths. */
  readonly likelihood: number;
}

/**
 * The records of a past call. The model scores leads with states as they were then; other leads have their score of
 * today.
 * @throws Error when the model cannot read a record
 */
export async function pastRows(
  { atMs, leads }: { readonly atMs: number; readonly leads: readonly ScoredLead[] },
  { states, model }: { readonly states: PastStates; readonly model: LoadedModel },
): Promise<PastRow[]> {
  const names = model.knownFields.sentNames();
  const records = leads.map(({ lead, row }) => {
    const own = states.get(lead);
    const held = own?.findLast(({ fromMs }) => fromMs <= atMs) ?? own?.[0] ?? lead;
    const { crm_id: crmId, ...record } = held.record;
    return { crmId: String(crmId), cells: model.knownFields.pack(record, names), isMoving: own !== undefined, row };
  });
  const moving = records.filter(({ isMoving }) => isMoving);
  const probabilities = await probabilitiesOf(moving, { atMs, model });
  const probabilityOf = new Map(moving.map((record, index) => [record, probabilities[index] ?? Number.NaN]));
  return records.map((record) => {
    const { crmId, cells, row } = record;
    const probability = probabilityOf.get(record);
    const score = probability === undefined ? row.score : model.percentileScore(probability);
    const likelihood =
      probability === undefined ? Math.round(10_000 * row.conversion_likelihood) : model.likelihood(probability);
    return { crmId, fields: JSON.stringify(cells), score, likelihood };
  });
}

async function probabilitiesOf(
  records: readonly { readonly crmId: string; readonly cells: readonly Cell[] }[],
  { atMs, model }: { readonly atMs: number; readonly model: LoadedModel },
): Promise<ArrayLike<number>> {
  if (records.length === 0) return [];
  const { featureRow, session } = model;
  const out = new Float32Array(records.length * featureRow.width);
  for (const [index, { crmId, cells }] of records.entries()) {
    const problems = featureRow.write({ cells, nowMs: atMs, out, offset: index * featureRow.width });
    if (problems !== undefined) throw new Error(`the model of the demo cannot read ${crmId}`);
  }
  return await session.run(out, records.length);
}
