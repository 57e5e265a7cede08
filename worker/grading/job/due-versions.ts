import { type Clock, dayNumber, lastNightMs } from '../../../shared/contract/dates.js';
import { callIdFloor } from '../../../shared/contract/identifiers.js';
import { callsCollection, idsOfOrganisation } from '../../../shared/store/calls/prediction-segment.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import {
  isAhead,
  lastCheckMs,
  minBetweenGradesMs,
  ValidationStore,
  type VerdictHead,
} from '../../../shared/store/validation/model-validation.js';
import { ValidationDailyStore } from '../../../shared/store/validation/validation-daily.js';
import { outcomeOverlapMs } from '../cohort/changed-days.js';
import {
  countedRun,
  isStillScoring,
  lacksComparison,
  type VersionToGrade,
  versionsToGrade,
} from './versions-to-grade.js';

/** Tolerance for clock skew between gateways and pools, and for calls that were recorded late. */
const overlapMs = 60 * 60 * 1000;

interface VersionToCheck extends VersionToGrade {
  readonly key: string;
  readonly head: VerdictHead | undefined;
}

/**
 * Lists the versions whose grade is due: current versions first, one of each organisation in turn. It checks the
 * versions that were neither graded nor checked since last night. Current versions are checked again after 15 minutes,
 * if too few of their predictions were recorded. They also are if their organisation has had outcomes since their
 * grade. With an organisation, all its current versions are.
 * A candidate is graded at night, and when its run has ended, but not before. A version without news keeps its verdict,
 * and is marked as checked.
 */
export async function dueVersions(
  database: Db,
  clock: Clock,
  organisationId?: string,
): Promise<readonly VersionToGrade[]> {
  const nowMs = clock.now();
  const store = new ValidationStore(database);
  const [versions, heads, lastOutcomes] = await Promise.all([
    versionsToGrade(database, organisationId === undefined ? {} : { organisationId }),
    store.heads(organisationId),
    lastOutcomeChanges(database, organisationId),
  ]);
  const gradable = versions.filter((version) => !isStillScoring(version));
  const all = gradable.map((version): VersionToCheck => {
    const key = `${version.model._id}:${version.version}`;
    return { ...version, key, head: heads.get(key) };
  });
  const due = all.filter(({ head }) => head?.checked?.hasNews === true);
  const toCheck = all.filter((each) => {
    const { head, model, version } = each;
    if (head?.checked?.hasNews === true) return false;
    const checkedMs = lastCheckMs(head);
    if (checkedMs < lastNightMs(nowMs) || (head !== undefined && isAhead(head, nowMs))) return true;
    if (organisationId === undefined && hasOtherRun(each)) return true;
    if (version !== model.version || checkedMs > nowMs - minBetweenGradesMs) return false;
    if (hasGrade(each, nowMs) && head?.failing_gate === 'predictions_recorded') return true;
    const gradedMs = head?.grade?.data_read_at.getTime() ?? 0;
    const changedMs = lastOutcomes.get(model.organisation_id) ?? 0;
    return organisationId !== undefined || changedMs > gradedMs - outcomeOverlapMs;
  });
  const hasNews = await newsOf(database, toCheck, { nowMs, lastOutcomes });
  const [news, quiet]: [VersionToCheck[], VersionToCheck[]] = [[], []];
  for (const each of toCheck) (hasNews(each) ? news : quiet).push(each);
  const at = new Date(nowMs);
  await store.check(keysOf(news), { at, hasNews: true });
  await store.check(keysOf(quiet), { at, hasNews: false });
  // A version that was due before may have failed: it comes after the others.
  return inTurns([...news, ...due]);
}

/** Whether a run of the version as a candidate has ended since its grade, or the scores of one count no longer. */
const hasOtherRun = (each: VersionToCheck): boolean =>
  each.head?.grade?.candidate_run !== countedRun(each) || lacksComparison(each);

/** Whether a version has a grade as of its own time. */
const hasGrade = ({ head }: VersionToCheck, nowMs: number): boolean =>
  head?.grade !== undefined && !isAhead(head, nowMs) && head.grade.as_of.getTime() === head.graded_at.getTime();

const keysOf = (versions: readonly VersionToCheck[]): string[] => versions.map(({ key }) => key);

/**
 * Finds out, in one read for all versions and one for each organisation, which of them another grade could judge
 * differently:
 * - one without a grade as of its own time;
 * - one whose pass is in doubt: only another grade ends the doubt;
 * - one that scored since it was graded or checked;
 * - one with predictions, if its organisation has had outcomes since its grade;
 * - the current version of a model, and its candidate, if their predictions have matured since;
 * - one whose run as a candidate has ended since, or counts no longer.
 */
async function newsOf(
  database: Db,
  versions: readonly VersionToCheck[],
  { nowMs, lastOutcomes }: { readonly nowMs: number; readonly lastOutcomes: ReadonlyMap<string, number> },
): Promise<(each: VersionToCheck) => boolean> {
  const known = versions.filter((each) => hasGrade(each, nowMs));
  if (known.length === 0) return () => true;
  const sinceMs = Math.min(...known.map(({ head }) => lastCheckMs(head))) - overlapMs;
  const organisations = new Set(known.map(({ model }) => model.organisation_id));
  const lastCalls = await lastCallsSince(database, organisations, sinceMs);
  // Predictions mature by the day, so a check in the daytime need not ask.
  const nightly = known.filter(({ head }) => lastCheckMs(head) < lastNightMs(nowMs));
  const used = nightly.filter(
    ({ model, version }) => version === model.version || version === model.candidate?.version,
  );
  const maturing = await new ValidationDailyStore(database).maturingSince(keysOf(used), dayNumber(sinceMs));
  return (each) => {
    const { key, head, model } = each;
    if (head?.grade === undefined || !hasGrade(each, nowMs) || head.grade.doubted_since !== undefined) return true;
    if (hasOtherRun(each)) return true;
    if ((lastCalls.get(key) ?? '') > callIdFloor(lastCheckMs(head) - overlapMs, model.organisation_id)) return true;
    const changedMs = lastOutcomes.get(model.organisation_id) ?? 0;
    return (
      ((head.stored_rows ?? 0) > 0 && changedMs > head.grade.data_read_at.getTime() - overlapMs) || maturing.has(key)
    );
  };
}

/**
 * The id of the last live call of each version since an instant, by `<model>:<version>`. Reads the calls of one
 * organisation after the other, in disk order.
 */
async function lastCallsSince(
  database: Db,
  organisations: Iterable<string>,
  sinceMs: number,
): Promise<ReadonlyMap<string, string>> {
  const calls = database.collection(callsCollection);
  const found = new Map<string, string>();
  for (const org of organisations) {
    const _id = { ...idsOfOrganisation(org), $gte: callIdFloor(sinceMs, org) };
    const rows = calls.aggregate<{ readonly _id: string; readonly last: string }>(
      [
        { $match: { _id, org, bucket: 'live' } },
        { $group: { _id: { $concat: ['$model', ':', '$version'] }, last: { $max: '$_id' } } },
      ],
      { hint: { _id: 1 } },
    );
    for await (const { _id: version, last } of rows) found.set(version, last);
  }
  return found;
}

/** When an outcome of one or each organisation last changed, Unix ms. MongoDB reads one index entry for each. */
async function lastOutcomeChanges(
  database: Db,
  organisationId: string | undefined,
): Promise<ReadonlyMap<string, number>> {
  const rows = database
    .collection('outcomes')
    .aggregate<{ readonly _id: string; readonly last: Date }>([
      ...(organisationId === undefined ? [] : [{ $match: { org: organisationId } }]),
      { $sort: { org: -1, changed_at: -1 } },
      { $group: { _id: '$org', last: { $first: '$changed_at' } } },
    ]);
  return new Map((await rows.toArray()).map(({ _id, last }) => [_id, last.getTime()]));
}

/** Orders versions: current ones first, then by how many versions of the same organisation come before. */
function inTurns(versions: readonly VersionToGrade[]): VersionToGrade[] {
  const before = new Map<string, number>();
  const ranked = versions.map((each) => {
    const isOld = each.version !== each.model.version;
    const group = `${each.model.organisation_id}:${isOld}`;
    const turn = before.get(group) ?? 0;
    before.set(group, turn + 1);
    return { each, isOld: Number(isOld), turn };
  });
  return ranked.sort((one, other) => one.isOld - other.isOld || one.turn - other.turn).map(({ each }) => each);
}
