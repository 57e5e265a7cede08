import { monthOf } from '../../../shared/clock.js';
import { callsCollection } from '../../../shared/store/calls-collection.js';
import type { ChangedOutcome, OutcomeStore } from '../../../shared/store/outcomes.js';
import type { DayBand, DayFigures, StoredDay } from '../../../shared/store/validation-daily.js';
import { dayMs, dayNumber, dayStartMs } from '../../../shared/utc-day.js';
import { bandScores } from '../../../shared/verdict.js';
import { firstPredictionsOf } from './first-predictions.js';
import { addTo, type FirstPrediction, noLeads, type Word, wayOf } from './lead-counts.js';
import type { GradedVersion, Snapshot } from './snapshot.js';

/** Records of live calls of an organisation by day, from a day on; by an index of the ledger alone. */
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
            org: organisationId,
            bucket: 'live',
            month: { $gte: monthOf(from) },
            at: { $gte: new Date(from) },
          },
        },
        { $group: { _id: { $dateTrunc: { date: '$at', unit: 'day' } }, records: { $sum: '$records' } } },
      ],
      { session },
    )
    .toArray();
  return new Map(days.map(({ _id, records }) => [dayNumber(_id.getTime()), records]));
}

/** Days whose calls are not those they were computed from, and days from which something was erased. */
export function daysToReadAgain(
  stored: readonly StoredDay[],
  ledger: ReadonlyMap<number, number>,
): Set<number> {
  const known = new Map(stored.map((day) => [day.day, day]));
  const changed = [...ledger].filter(([day, records]) => known.get(day)?.organisation_records !== records);
  const emptied = stored.filter(({ day, stale }) => stale === true || !ledger.has(day));
  return new Set([...changed.map(([day]) => day), ...emptied.map(({ day }) => day)]);
}

/** Changed outcomes that are looked at one by one; more of them touch nearly every day anyway. */
const mostChanges = 20_000;
/** Clocks of database servers that take over from each other, and writes that were under way when days were read. */
const overlapMs = 60_000;

/** What changed outcomes mean for the days that are stored. */
export interface OutcomeChanges {
  /** Days to be computed as a whole: it cannot be told what they had counted of a lead. */
  readonly whole: ReadonlySet<number>;
  /** The other days on which something has changed, with the change. */
  readonly adjusted: readonly DayFigures[];
}

/**
 * Finds what the outcomes that have changed since a grade change about its days. A lead moves within the day of its first
 * prediction from how it was counted to how it counts now, so that a day brings little work, however many leads were
 * scored on the days that its conversions fall back upon.
 * @param options `readAt`: the database's clock when the days were read; `fromDay`: the first that matters
 * @returns undefined when so much has changed that all days may as well be computed again
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
  const changed = await outcomes.changedSince(graded.organisationId, new Date(readAt.getTime() - overlapMs), {
    most: mostChanges,
    session: snapshot.session,
  });
  if (changed === undefined) return undefined;
  const firsts = await firstPredictionsOf(
    snapshot,
    graded,
    new Set(changed.map(({ crm_id: crmId }) => crmId)),
  );
  const days = new Map(stored.map((day) => [day.day, day]));
  const whole = new Set<number>();
  const adjusted = new Map<number, DayFigures>();
  for (const outcome of changed) {
    const first = firsts.get(outcome.crm_id);
    if (first === undefined) continue;
    const number = dayNumber(first.at.getTime());
    if (number < fromDay) continue;
    const day = days.get(number);
    const before = day?.read_at && countedWord(outcome, Math.max(day.read_at.getTime(), readAt.getTime()));
    if (day === undefined || before === undefined) whole.add(number);
    else if (before !== 'as it is')
      adjusted.set(number, moved(adjusted.get(number) ?? figuresOf(day), { first, outcome, before, graded }));
  }
  return { whole, adjusted: [...adjusted.values()].filter(({ day }) => !whole.has(day)) };
}

/**
 * The word on a lead that was counted when its day was read, at an instant of the database's clock.
 * @returns `none` when there was none yet; undefined when it cannot be told
 */
function countedWord(
  { changed_at: changedAt, previous }: ChangedOutcome,
  readMs: number,
): Word | 'none' | 'as it is' | undefined {
  if (changedAt.getTime() < readMs - overlapMs) return 'as it is';
  if (changedAt.getTime() <= readMs + overlapMs) return undefined;
  if (previous === undefined) return 'none';
  return previous.changed_at.getTime() < readMs - overlapMs ? previous : undefined;
}

interface Move {
  readonly first: FirstPrediction;
  readonly outcome: ChangedOutcome;
  readonly before: Word | 'none';
  readonly graded: GradedVersion;
}

/** What is computed of a day, without how it is kept. */
function figuresOf({ _id, graded, org, read_at, stale, ...figures }: StoredDay): DayFigures {
  return figures;
}

/** A day after a lead has moved from how it was counted to how it counts now. */
function moved(day: DayFigures, { first, outcome, before, graded }: Move): DayFigures {
  const horizonMs = graded.horizonDays * dayMs;
  const was = wayOf(first, before === 'none' ? undefined : before, horizonMs);
  const is = wayOf(first, outcome, horizonMs);
  const bands = bandScores.map((_, band): DayBand => {
    const figures = { ...noLeads(), ...day.bands[band] };
    if (band !== first.band) return figures;
    addTo(figures, is);
    addTo(figures, was, -1);
    return figures;
  });
  const lastWordMs = Math.max(day.last_word_at?.getTime() ?? 0, is.cohort * outcome.received_at.getTime());
  return { ...day, bands, ...(lastWordMs === 0 ? {} : { last_word_at: new Date(lastWordMs) }) };
}
