import { dayMs, dayNumber, dayStartMs, monthOf } from '../../../shared/contract/dates.js';
import { bandScores } from '../../../shared/contract/verdict.js';
import { callsCollection, idsOfOrganisation } from '../../../shared/store/calls/prediction-segment.js';
import { ledgerIndex } from '../../../shared/store/calls/usage-rollups.js';
import type { ChangedOutcome, OutcomeStore } from '../../../shared/store/validation/outcomes.js';
import type { DayBand, DayFigures, StoredDay } from '../../../shared/store/validation/validation-daily.js';
import { firstPredictionsOf } from './first-predictions.js';
import { addFigures, emptyBandSum, type FirstPrediction, figuresOfLead, type OutcomeState } from './lead-counts.js';
import type { GradedVersion, Snapshot } from './snapshot.js';

/** Counts an organisation's live records by day, from a day on. The query is covered by an index. */
export async function ledgerByDay(
  { database, session }: Snapshot,
  { organisationId }: GradedVersion,
  fromDay: number,
): Promise<Map<number, number>> {
  const from = dayStartMs(fromDay);
  const days = await database
    .collection(callsCollection)
    .aggregate<{ readonly _id: Date; readonly records: number }>(
      [
        {
          $match: {
            _id: idsOfOrganisation(organisationId),
            org: organisationId,
            bucket: 'live',
            month: { $gte: monthOf(from) },
            at: { $gte: new Date(from) },
          },
        },
        { $group: { _id: { $dateTrunc: { date: '$at', unit: 'day' } }, records: { $sum: '$records' } } },
      ],
      { session, hint: ledgerIndex },
    )
    .toArray();
  return new Map(days.map(({ _id, records }) => [dayNumber(_id.getTime()), records]));
}

/** Days whose calls have changed since they were computed, and days with erased predictions. */
export function daysToRecompute(stored: readonly StoredDay[], ledger: ReadonlyMap<number, number>): Set<number> {
  const known = new Map(stored.map((day) => [day.day, day]));
  const changed = [...ledger].filter(([day, records]) => known.get(day)?.organisation_records !== records);
  const emptied = stored.filter(({ day, stale }) => stale === true || !ledger.has(day));
  return new Set([...changed.map(([day]) => day), ...emptied.map(({ day }) => day)]);
}

/** Maximum changed outcomes that are applied one by one; more would affect nearly every day. */
const maxChanges = 20_000;
/** Tolerance for clock skew between replica set members, and for writes in flight while days were read. */
export const outcomeOverlapMs = 60_000;

/** The effect of changed outcomes on stored days. */
export interface OutcomeChanges {
  /** Days to recompute completely, because it is unknown how they counted a lead. */
  readonly whole: ReadonlySet<number>;
  /** The other changed days, with the changes applied. */
  readonly adjusted: readonly DayFigures[];
}

/**
 * Applies the outcomes that have changed since a grade to its days. Each affected lead is moved within the day of its
 * first prediction. The work is therefore independent of the number of leads scored on that day.
 * @param options `readAt`: the database's clock when the days were read; `fromDay`: the first relevant day
 * @returns undefined if there are so many changes that all days should be recomputed
 */
export async function outcomeChanges(
  snapshot: Snapshot,
  graded: GradedVersion,
  options: {
    readonly outcomes: OutcomeStore;
    readonly stored: readonly StoredDay[];
    readonly readAt: Date;
    readonly fromDay: number;
  },
): Promise<OutcomeChanges | undefined> {
  const { outcomes, stored, readAt, fromDay } = options;
  const changed = await outcomes.changedSince(graded.organisationId, new Date(readAt.getTime() - outcomeOverlapMs), {
    most: maxChanges,
    session: snapshot.session,
  });
  if (changed === undefined) return undefined;
  const firsts = await firstPredictionsOf(snapshot, graded, new Set(changed.map(({ crm_id: crmId }) => crmId)));
  const days = new Map(stored.map((day) => [day.day, day]));
  const whole = new Set<number>();
  const adjusted = new Map<number, DayFigures>();
  for (const outcome of changed) {
    const first = firsts.get(outcome.crm_id);
    if (first === undefined) continue;
    const number = dayNumber(first.at.getTime());
    if (number < fromDay) continue;
    const day = days.get(number);
    const before = day?.read_at && countedOutcome(outcome, Math.max(day.read_at.getTime(), readAt.getTime()));
    if (day === undefined || before === undefined) whole.add(number);
    else if (before !== 'unchanged')
      adjusted.set(number, withMovedLead(adjusted.get(number) ?? figuresOf(day), { first, outcome, before, graded }));
  }
  return { whole, adjusted: [...adjusted.values()].filter(({ day }) => !whole.has(day)) };
}

/**
 * The outcome of a lead that its day counted.
 * @param readMs the database's clock when the day was read, Unix ms
 * @returns `none` without an outcome at that time; `unchanged` for the current outcome; undefined if unknown
 */
function countedOutcome(
  { changed_at: changedAt, previous }: ChangedOutcome,
  readMs: number,
): OutcomeState | 'none' | 'unchanged' | undefined {
  if (changedAt.getTime() < readMs - outcomeOverlapMs) return 'unchanged';
  if (changedAt.getTime() <= readMs + outcomeOverlapMs) return undefined;
  if (previous === undefined) return 'none';
  return previous.changed_at.getTime() < readMs - outcomeOverlapMs ? previous : undefined;
}

interface Move {
  readonly first: FirstPrediction;
  readonly outcome: ChangedOutcome;
  readonly before: OutcomeState | 'none';
  readonly graded: GradedVersion;
}

/** The computed figures of a stored day. */
function figuresOf({ _id, graded, org, read_at, stale, ...figures }: StoredDay): DayFigures {
  return figures;
}

/** The figures of a day with one lead counted by its current outcome. */
function withMovedLead(day: DayFigures, { first, outcome, before, graded }: Move): DayFigures {
  const horizonMs = graded.horizonDays * dayMs;
  const was = figuresOfLead(first, before === 'none' ? undefined : before, horizonMs);
  const is = figuresOfLead(first, outcome, horizonMs);
  const bands = bandScores.map((_, band): DayBand => {
    const figures = { ...emptyBandSum(), ...day.bands[band] };
    if (band !== first.band) return figures;
    addFigures(figures, is);
    addFigures(figures, was, -1);
    return figures;
  });
  const newestOutcomeMs = Math.max(day.last_word_at?.getTime() ?? 0, is.cohort * outcome.received_at.getTime());
  return { ...day, bands, ...(newestOutcomeMs === 0 ? {} : { last_word_at: new Date(newestOutcomeMs) }) };
}
