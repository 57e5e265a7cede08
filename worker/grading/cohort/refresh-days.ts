import { dayNumber } from '../../../shared/contract/dates.js';
import { bandScores } from '../../../shared/contract/verdict.js';
import type { OutcomeStore } from '../../../shared/store/validation/outcomes.js';
import type {
  DayBand,
  DayFigures,
  DayRequests,
  StoredDay,
  ValidationDailyStore,
} from '../../../shared/store/validation/validation-daily.js';
import { daysToRecompute, ledgerByDay, type OutcomeChanges, outcomeChanges } from './changed-days.js';
import { classifyLeads } from './classify-leads.js';
import { addFigures, emptyBandSum, type LeadGroup } from './lead-counts.js';
import { scanRequests } from './scan-requests.js';
import { type GradedVersion, gradedKey, type Snapshot } from './snapshot.js';

export interface RefreshOptions {
  readonly snapshot: Snapshot;
  readonly daily: ValidationDailyStore;
  readonly outcomes: OutcomeStore;
  readonly graded: GradedVersion;
  /** The first day of the grade. */
  readonly fromDay: number;
  /** Predictions up to this instant have matured. */
  readonly cut: Date;
  /** The database's clock, read before the snapshot. */
  readonly readAt: Date;
  /** The previous grade whose days are reused; undefined to compute all days. */
  readonly before: EarlierGrade | undefined;
  /** Maximum leads in memory when all leads are read. */
  readonly maxLeadsPerPass: number;
}

/** Facts about a previous grade that are needed to reuse its days. */
interface EarlierGrade {
  /** The database's clock when it read. */
  readonly readAt: Date;
  /** The first day of the grade, which did not check earlier days for changes. */
  readonly fromDay: number;
}

/** The result of a refresh. */
export interface Refreshed {
  /** Number of completely recomputed days. */
  readonly days: number;
  /** Number of other days with changed outcomes. */
  readonly adjusted: number;
  /** Whether all days were recomputed. */
  readonly isRebuild: boolean;
  /** The matured part of the day of the cut, by band. It is the only day that counts partially. */
  readonly maturedOnCutDay: readonly DayBand[];
}

/**
 * Updates the daily figures of a version from one snapshot of the database. It recomputes days with new calls or erased
 * leads, and applies changed outcomes to the others. It is idempotent and safe to run concurrently, because each day
 * stores when it was read.
 */
export async function refreshDays(options: RefreshOptions): Promise<Refreshed> {
  const { snapshot, daily, graded, fromDay, cut, readAt } = options;
  const owner = { graded: gradedKey(graded), organisationId: graded.organisationId, readAt };
  const stored = await daily.days(gradedKey(graded), { maturedFrom: fromDay + graded.horizonDays });
  const ledger = await ledgerByDay(snapshot, graded, fromDay);
  const changes = await changedDays(options, { stored, ledger });
  const allDays = new Set([...ledger.keys(), ...stored.map(({ day }) => day)]);
  const cutDay = dayNumber(cut.getTime());
  const wanted = changes === undefined ? allDays : new Set([...changes.whole, cutDay]);
  const days = [...wanted].filter((day) => day >= fromDay).sort((one, other) => one - other);
  await daily.clearStale(gradedKey(graded), days);

  const requests = await scanRequests(snapshot, graded, days);
  const groups = await classifyLeads(snapshot, graded, {
    days: days.filter((day) => (requests.get(day)?.stored_rows ?? 0) > 0),
    cut,
    isEverything: changes === undefined,
    maxLeadsPerPass: options.maxLeadsPerPass,
  });
  const figures = days.flatMap((day) => {
    const counted = requests.get(day);
    const dayGroups = groups.filter((group) => group.day === day);
    const isKnown = counted !== undefined || dayGroups.length > 0 || ledger.has(day);
    return isKnown ? dayFigures(day, { graded, counted, groups: dayGroups, ledger }) : [];
  });
  const kept = new Set(figures.map(({ day }) => day));
  const adjusted = changes?.adjusted.filter(({ day }) => !wanted.has(day)) ?? [];
  await daily.replace([...figures, ...adjusted], owner);
  await daily.remove(
    days.filter((day) => !kept.has(day)),
    owner,
  );
  const cutDayGroups = groups.filter((group) => group.day === cutDay && group.matured);
  return {
    days: days.length,
    adjusted: adjusted.length,
    isRebuild: changes === undefined,
    maturedOnCutDay: bandsOf(cutDayGroups),
  };
}

/** The changes since the previous grade; undefined if all days must be computed. */
async function changedDays(
  { snapshot, graded, outcomes, before, fromDay }: RefreshOptions,
  known: { readonly stored: readonly StoredDay[]; readonly ledger: ReadonlyMap<number, number> },
): Promise<OutcomeChanges | undefined> {
  if (before === undefined) return undefined;
  const { stored, ledger } = known;
  const changes = await outcomeChanges(snapshot, graded, {
    outcomes,
    stored,
    readAt: before.readAt,
    fromDay,
  });
  if (changes === undefined) return undefined;
  const skippedBefore = stored.filter(({ day }) => day < before.fromDay).map(({ day }) => day);
  const whole = new Set([...daysToRecompute(stored, ledger), ...changes.whole, ...skippedBefore]);
  return { whole, adjusted: changes.adjusted };
}

const noRequests: DayRequests = {
  ledger_records: 0,
  stored_rows: 0,
  mismatched_requests: 0,
  without_crm_id: 0,
  erased: 0,
};

function dayFigures(
  day: number,
  of: {
    readonly graded: GradedVersion;
    readonly counted: DayRequests | undefined;
    readonly groups: readonly LeadGroup[];
    readonly ledger: ReadonlyMap<number, number>;
  },
): DayFigures {
  const newestOutcomeMs = Math.max(0, ...of.groups.map((group) => group.newestOutcomeMs));
  return {
    day,
    matured_day: day + of.graded.horizonDays,
    ...(of.counted ?? noRequests),
    bands: bandsOf(of.groups),
    ...(newestOutcomeMs === 0 ? {} : { last_word_at: new Date(newestOutcomeMs) }),
    organisation_records: of.ledger.get(day) ?? 0,
  };
}

/** Adds up groups by band. */
function bandsOf(groups: readonly LeadGroup[]): DayBand[] {
  return bandScores.map((_, band) => {
    const sum = emptyBandSum();
    for (const group of groups) if (group.band === band) addFigures(sum, group);
    return sum;
  });
}
