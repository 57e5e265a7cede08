import type { OutcomeStore } from '../../shared/store/outcomes.js';
import type {
  DayBand,
  DayFigures,
  DayRequests,
  StoredDay,
  ValidationDailyStore,
} from '../../shared/store/validation-daily.js';
import { dayNumber, dayStartMs } from '../../shared/utc-day.js';
import { bandScores } from '../../shared/verdict.js';
import { daysToReadAgain, ledgerByDay } from './changed-days.js';
import { type OutcomeChanges, outcomeChanges } from './changed-leads.js';
import { classifyLeads, type LeadGroup } from './classify-leads.js';
import { type GradedVersion, gradedKey, type Snapshot } from './graded-version.js';
import { leadRanges } from './lead-ranges.js';
import { blocksOf, idsOfDays, scanRequests } from './scan-requests.js';

/** Twice that many ids go into one command, of at most 16 MB; an id may have a kilobyte. */
const crmIdsAtOnce = 5_000;
/** With more leads than this on the days to be read, reading all leads in their order is quicker. */
const mostListedLeads = 200_000;

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
  const groups = await groupsOfDays(options, { days, isRebuild: changes === undefined });
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

async function groupsOfDays(
  { snapshot, graded, fromDay, cut }: RefreshOptions,
  { days, isRebuild }: { readonly days: readonly number[]; readonly isRebuild: boolean },
): Promise<LeadGroup[]> {
  const classification = { fromDay, cut };
  const crmIds = isRebuild ? undefined : await leadsOfDays(snapshot, graded, days);
  const wanted = new Set(days);
  const found: LeadGroup[] = [];
  const add = (groups: readonly LeadGroup[]): void => {
    for (const group of groups) if (wanted.has(group.day)) found.push(group);
  };
  if (crmIds === undefined) {
    for await (const leads of leadRanges(snapshot, graded))
      add(await classifyLeads(snapshot, graded, { ...classification, leads }));
    return found;
  }
  for (let start = 0; start < crmIds.length; start += crmIdsAtOnce) {
    const leads = { crmIds: crmIds.slice(start, start + crmIdsAtOnce) };
    add(await classifyLeads(snapshot, graded, { ...classification, leads }));
  }
  return found;
}

/** The leads that were scored on some days; undefined when they are too many to be named. */
async function leadsOfDays(
  { database, session }: Snapshot,
  { organisationId, modelId, version }: GradedVersion,
  days: readonly number[],
): Promise<string[] | undefined> {
  const crmIds = new Set<string>();
  for (const { first, last } of blocksOf(days)) {
    const rows = database.collection<{ _id: string; crm_id: string }>('predictions').find(
      {
        _id: idsOfDays(first, last),
        org: organisationId,
        model: modelId,
        version,
        crm_id: { $exists: true },
        at: { $gte: new Date(dayStartMs(first)), $lt: new Date(dayStartMs(last + 1)) },
      },
      { projection: { _id: 0, crm_id: 1 }, session, hint: { _id: 1 }, batchSize: 10_000 },
    );
    for await (const { crm_id } of rows) {
      crmIds.add(crm_id);
      if (crmIds.size > mostListedLeads) return undefined;
    }
  }
  return [...crmIds];
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
  const words = of.groups.flatMap(({ lastWordAt }) => lastWordAt?.getTime() ?? []);
  return {
    day,
    matured_day: day + of.graded.horizonDays,
    ...(of.counted ?? noRequests),
    bands: bandsOf(of.groups),
    ...(words.length === 0 ? {} : { last_word_at: new Date(Math.max(...words)) }),
    organisation_records: of.ledger.get(day) ?? 0,
  };
}

/** Adds groups up, by band. */
function bandsOf(groups: readonly LeadGroup[]): DayBand[] {
  return bandScores.map((_, band) => {
    const sum = { cohort: 0, excluded: 0, joined: 0, conversions: 0, likelihood: 0 };
    for (const group of groups) {
      if (group.band !== band) continue;
      sum.cohort += group.cohort;
      sum.excluded += group.excluded;
      sum.joined += group.joined;
      sum.conversions += group.conversions;
      sum.likelihood += group.likelihood;
    }
    return sum;
  });
}
