import type { Document } from 'mongodb';
import { outcomeId } from '../../shared/store/outcomes.js';
import { leadIndex } from '../../shared/store/predictions.js';
import type { DayBand } from '../../shared/store/validation-daily.js';
import { dayMs, dayNumber, dayStartMs } from '../../shared/utc-day.js';
import type { GradedVersion, Snapshot } from './graded-version.js';

/** Which leads: those with these crm_ids, or all from one crm_id up to, and not including, another. */
export type Leads =
  | { readonly crmIds: readonly string[] }
  | { readonly from: string; readonly until: string | undefined };

/** Leads of one day and band, by their first prediction. */
export interface LeadGroup extends DayBand {
  readonly day: number;
  readonly band: number;
  /** Whether their horizon is over, by the cut; mixed on the day of the cut only. */
  readonly matured: boolean;
  readonly lastWordAt: Date | null;
}

export interface Classification {
  readonly leads: Leads;
  /** First predictions from this day on are counted; those before it only tell that a later one is a repeat. */
  readonly fromDay: number;
  /** Predictions up to this instant have matured. */
  readonly cut: Date;
}

/**
 * Finds the first prediction of each lead under a version and what became of it, and counts the leads by day and band:
 * the cohort. Predictions and outcomes meet in one group by crm_id, since a look-up for each lead would cost ten times
 * as much. Runs on the server; at most five groups a day come back.
 */
export async function classifyLeads(
  { database, session }: Snapshot,
  graded: GradedVersion,
  classification: Classification,
): Promise<LeadGroup[]> {
  const found = await database
    .collection('predictions')
    .aggregate<DayBand & { _id: { day: Date; band: number; matured: boolean }; last_word_at: Date | null }>(
      pipeline(graded, classification),
      { session, allowDiskUse: true, hint: leadIndex },
    )
    .toArray();
  return found.map(({ _id: { day, band, matured }, last_word_at: lastWordAt, ...counts }) => ({
    ...counts,
    day: dayNumber(day.getTime()),
    band,
    matured,
    lastWordAt,
  }));
}

function pipeline(graded: GradedVersion, { leads, fromDay, cut }: Classification): Document[] {
  const { organisationId, modelId, version, horizonDays } = graded;
  const horizonMs = horizonDays * dayMs;
  const isJoined = { $eq: [{ $type: '$o' }, 'object'] };
  const isExcluded = { $and: ['$o.converted', { $lte: ['$o.at', '$p.at'] }] };
  const isConversion = { $and: ['$o.converted', { $lte: [{ $subtract: ['$o.at', '$p.at'] }, horizonMs] }] };
  const inCohort = { $not: ['$excluded'] };
  const sumWhen = (...conditions: unknown[]): Document => ({ $sum: { $cond: [{ $and: conditions }, 1, 0] } });
  return [
    {
      $match: { org: organisationId, crm_id: crmIdsOf(leads), model: modelId, version },
    },
    {
      $project: {
        _id: 0,
        crm_id: 1,
        p: { id: '$_id', at: '$at', band: '$band', likelihood: '$likelihood' },
      },
    },
    {
      $unionWith: {
        coll: 'outcomes',
        pipeline: [
          { $match: outcomesOf(organisationId, leads) },
          {
            $project: {
              _id: 0,
              crm_id: 1,
              o: { converted: '$converted', at: '$at', received_at: '$received_at' },
            },
          },
        ],
      },
    },
    // The smallest is the first: objects compare by their first member, and ids ascend with time.
    { $group: { _id: '$crm_id', p: { $min: '$p' }, o: { $max: '$o' } } },
    { $match: { 'p.at': { $gte: new Date(dayStartMs(fromDay)) } } },
    { $set: { joined: isJoined, excluded: isExcluded, converted: isConversion } },
    {
      $group: {
        _id: {
          day: { $dateTrunc: { date: '$p.at', unit: 'day' } },
          band: '$p.band',
          matured: { $lte: ['$p.at', cut] },
        },
        cohort: sumWhen(inCohort),
        excluded: sumWhen('$excluded'),
        joined: sumWhen(inCohort, '$joined'),
        conversions: sumWhen(inCohort, '$converted'),
        likelihood: { $sum: { $cond: [{ $and: [inCohort, '$joined'] }, '$p.likelihood', 0] } },
        last_word_at: { $max: { $cond: [inCohort, '$o.received_at', null] } },
      },
    },
  ];
}

const crmIdsOf = (leads: Leads): Document =>
  'crmIds' in leads
    ? { $in: leads.crmIds }
    : { $gte: leads.from, ...(leads.until === undefined ? {} : { $lt: leads.until }) };

/** A range by the clustered key; `;` is the character after `:`, so it ends an organisation's outcomes. */
const outcomesOf = (organisationId: string, leads: Leads): Document =>
  'crmIds' in leads
    ? { org: organisationId, crm_id: { $in: leads.crmIds } }
    : {
        _id: {
          $gte: outcomeId(organisationId, leads.from),
          $lt: leads.until === undefined ? `${organisationId};` : outcomeId(organisationId, leads.until),
        },
      };
