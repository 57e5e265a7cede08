import type { OutcomeStore } from '../../../shared/store/outcomes.js';
import type {
  DayBand,
  DayFigures,
  DayRequests,
  StoredDay,
  ValidationDailyStore,
} from '../../../shared/store/validation-daily.js';
import { dayNumber } from '../../../shared/utc-day.js';
import { bandScores } from '../../../shared/verdict.js';
import { daysToReadAgain, ledgerByDay, type OutcomeChanges, outcomeChanges } from './changed-days.js';
import { classifyLeads } from './classify-leads.js';
import { addTo, type LeadGroup, noLeads } from './lead-counts.js';
import { scanRequests } from './scan-requests.js';
import { type GradedVersion, gradedKey, type Snapshot } from './snapshot.js';

export interface RefreshOptions {
  readonly snapshot: Snapshot;
  readonly daily: ValidationDailyStore;
  readonly outcomes: OutcomeStore;
  readonly graded: GradedVersion;
  /** The first day that a grade may go by. */
  readonly fromDay: number;
  /** Predictions up to this instant have matured. */
  readonly cut: Date;
  /** The database's clock, read before the snapshot. */
  readonly readAt: Date;
  /** The grade before this one, whose days are built on; undefined: everything is computed anew. */
  readonly before: EarlierGrade | undefined;
  /** Leads in memory at once when all are read. */
  readonly leadsAPass: number;
}

/** What must be known of a grade to build on the days that it left. */
export interface EarlierGrade {
  /** The database's clock when it read. */
  readonly readAt: Date;
  /** The first day that it went by: it did not look for changes of earlier ones. */
  readonly fromDay: number;
}

/** What came of a refresh. */
export interface Refreshed {
  /** How many days were computed again as a whole. */
  readonly days: number;
  /** How many others had leads moved, whose outcome has changed. */
  readonly adjusted: number;
  /** Whether all were. */
  readonly isRebuild: boolean;
  /** The bands of the day of the cut, as far as they have matured: the one day of which only a part counts. */
  readonly maturedOnCutDay: readonly DayBand[];
}

/**
 * Brings the daily figures of a version up to date, from one snapshot of the database: computes the days again on which
 * calls have come or leads have gone, and moves leads within the others whose outcome has changed. Doing it twice, or in
 * two places at once, does no harm: each day says when it was read.
 */
export async function refreshDays(options: RefreshOptions): Promise<Refreshed> {
  const { snapshot, daily, graded, fromDay, cut, readAt } = options;
  const owner = { graded: gradedKey(graded), organisationId: graded.organisationId, readAt };
  const stored = await daily.days(gradedKey(graded), { maturedFrom: fromDay + graded.horizonDays });
  const ledger = await ledgerByDay(snapshot, graded, fromDay);
  const changes = await changedDays(options, { stored, ledger });
  const everything = new Set([...ledger.keys(), ...stored.map(({ day }) => day)]);
  const cutDay = dayNumber(cut.getTime());
  const wanted = changes === undefined ? everything : new Set([...changes.whole, cutDay]);
  const days = [...wanted].filter((day) => day >= fromDay).sort((one, other) => one - other);
  await daily.clearStale(gradedKey(graded), days);

  const requests = await scanRequests(snapshot, graded, days);
  const groups = await classifyLeads(snapshot, graded, {
    days: days.filter((day) => (requests.get(day)?.stored_rows ?? 0) > 0),
    cut,
    isEverything: changes === undefined,
    leadsAPass: options.leadsAPass,
    organisationRecords: [...ledger.values()].reduce((sum, records) => sum + records, 0),
  });
  const figures = days.flatMap((day) => {
    const counted = requests.get(day);
    const ofDay = groups.filter((group) => group.day === day);
    const isKnown = counted !== undefined || ofDay.length > 0 || ledger.has(day);
    return isKnown ? dayFigures(day, { graded, counted, groups: ofDay, ledger }) : [];
  });
  const kept = new Set(figures.map(({ day }) => day));
  const adjusted = changes?.adjusted.filter(({ day }) => !wanted.has(day)) ?? [];
  await daily.replace([...figures, ...adjusted], owner);
  await daily.remove(
    days.filter((day) => !kept.has(day)),
    owner,
  );
  const ofCutDay = groups.filter((group) => group.day === cutDay && group.matured);
  return {
    days: days.length,
    adjusted: adjusted.length,
    isRebuild: changes === undefined,
    maturedOnCutDay: bandsOf(ofCutDay),
  };
}

/** What has changed since the grade before; undefined when all days are to be computed. */
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
  const passedOver = stored.filter(({ day }) => day < before.fromDay).map(({ day }) => day);
  const whole = new Set([...daysToReadAgain(stored, ledger), ...changes.whole, ...passedOver]);
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
  const lastWordMs = Math.max(0, ...of.groups.map((group) => group.lastWordMs));
  return {
    day,
    matured_day: day + of.graded.horizonDays,
    ...(of.counted ?? noRequests),
    bands: bandsOf(of.groups),
    ...(lastWordMs === 0 ? {} : { last_word_at: new Date(lastWordMs) }),
    organisation_records: of.ledger.get(day) ?? 0,
  };
}

/** Adds groups up, by band. */
function bandsOf(groups: readonly LeadGroup[]): DayBand[] {
  return bandScores.map((_, band) => {
    const sum = noLeads();
    for (const group of groups) if (group.band === band) addTo(sum, group);
    return sum;
  });
}
