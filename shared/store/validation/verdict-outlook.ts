import { dayNumber, dayText } from '../../contract/dates.js';
import { type GateResult, horizonDaysOf, requiredPredictions } from '../../contract/verdict.js';
import type { StoredVerdict } from './model-validation.js';
import type { DayScores } from './validation-daily.js';

/** Grades cover the predictions that matured in so many days. */
const windowDays = 365;
const minBands = 3;

/**
 * When a verdict becomes possible on a version that is too early now. It is the day on which enough leads have matured,
 * if outcome data names all of them. Absent if no day can be given.
 * @param days earliest first
 * @param of.facts the `validation` section of the version's manifest
 */
export function verdictOutlook(
  days: readonly DayScores[],
  of: {
    readonly nowMs: number;
    readonly stored: StoredVerdict | undefined;
    readonly facts: Parameters<typeof horizonDaysOf>[0];
  },
) {
  const horizonDays = of.stored?.grade?.horizon_days ?? horizonDaysOf(of.facts);
  const needed = neededLeads(of.stored);
  const day = needed === undefined ? undefined : scoredDay(days, needed, dayNumber(of.nowMs));
  return {
    horizon_days: horizonDays,
    ...(day === undefined ? {} : { verdict_day: dayText(day.day + horizonDays) }),
    is_estimate: day?.isEstimate ?? false,
  };
}

/** The matured leads that a verdict needs. If conversions are missing, the rate so far says how many bring them. */
function neededLeads(stored: StoredVerdict | undefined): number | undefined {
  if (stored?.failing_gate !== 'outcomes_observed') return requiredPredictions;
  const { bands = [], gates = [] } = stored.grade ?? {};
  const figures: GateResult['figures'] = gates.find(({ gate }) => gate === 'outcomes_observed')?.figures ?? {};
  const { conversions = 0, required_conversions: required = 0 } = figures;
  // Other inputs are missing: more leads may not bring them.
  if (conversions === 0 || conversions >= required) return undefined;
  const matured = bands.reduce((sum, { records }) => sum + records, 0);
  return Math.ceil((matured * required) / conversions);
}

/**
 * The day on which the first score of the lead with a certain rank was or will be given. The future is at the mean pace
 * since the first lead.
 */
function scoredDay(
  days: readonly DayScores[],
  needed: number,
  today: number,
): { readonly day: number; readonly isEstimate: boolean } | undefined {
  const scored = days.map(({ day, cohort }) => ({ day, leads: cohort.reduce((sum, count) => sum + count, 0) }));
  let total = 0;
  for (const { day, leads } of scored) {
    total += leads;
    if (total >= needed) return hasFewBands(days) ? undefined : { day, isEstimate: false };
  }
  const first = scored.find(({ leads }) => leads > 0)?.day;
  if (first === undefined) return undefined;
  const daysPerLead = (today - first + 1) / total;
  if (daysPerLead * needed > windowDays) return undefined;
  return { day: today + Math.ceil((needed - total) * daysPerLead), isEstimate: true };
}

/** Whether the scores fall into too few bands to be compared, whatever the outcomes. */
const hasFewBands = (days: readonly DayScores[]): boolean =>
  new Set(days.flatMap(({ cohort }) => cohort.flatMap((count, band) => (count > 0 ? [band] : [])))).size < minBands;
