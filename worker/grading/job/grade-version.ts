import type { ClientSession } from 'mongodb';
import type { Manifest } from '../../../shared/bundle/manifest/manifest.js';
import { dayMs, dayStartMs, monthOf } from '../../../shared/contract/dates.js';
import { horizonDaysOf } from '../../../shared/contract/verdict.js';
import { callsCollection, idsOfOrganisation } from '../../../shared/store/calls/prediction-segment.js';
import { RetentionStore } from '../../../shared/store/calls/retention.js';
import type { LedgerRow } from '../../../shared/store/calls/usage-ledger.js';
import { ledgerIndex } from '../../../shared/store/calls/usage-rollups.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import { isAhead, type StoredVerdict, ValidationStore } from '../../../shared/store/validation/model-validation.js';
import { OutcomeStore } from '../../../shared/store/validation/outcomes.js';
import { ValidationDailyStore } from '../../../shared/store/validation/validation-daily.js';
import { maxLeadsPerPass } from '../cohort/first-predictions.js';
import { compareLatestOutcomes } from '../cohort/latest-outcomes.js';
import { type Refreshed, refreshDays } from '../cohort/refresh-days.js';
import { type GradedVersion, gradedKey, inSnapshot, type Snapshot } from '../cohort/snapshot.js';
import { firstGradedDay, gradedDays, sumDays } from '../cohort/sum-days.js';
import { namesTooFew } from '../gates/gates.js';
import { type Grade, gradeCohort } from '../gates/grade-cohort.js';
import { type Barrier, type Standing, settledState } from '../gates/settled-state.js';
import { defaultLift } from '../statistics/lift.js';

/** After this time, unchanged days are recomputed as well. */
const rebuildAfterMs = 7 * dayMs;
const readTimeoutMs = 10_000;

export interface GradeOptions {
  readonly database: Db;
  readonly organisationId: string;
  readonly modelId: string;
  readonly version: string;
  /** The `validation` section of the version's manifest. */
  readonly facts: Manifest['validation'];
  /** Date of the grade. A date after `nowMs` makes it a rehearsal, which is not stored. */
  readonly asOfMs: number;
  /** The service's clock, which determines a verdict's age. */
  readonly nowMs: number;
  /** Whether to recompute every day. */
  readonly rebuild?: boolean;
  /** The run whose scores count like calls of the version; see `countedRun`. Undefined without one. */
  readonly candidateRun?: string | undefined;
  /** Maximum leads in memory when all leads are read; `maxLeadsPerPass` by default. */
  readonly maxLeadsPerPass?: number;
}

/** A verdict and the work behind it. */
export interface Graded {
  readonly verdict: StoredVerdict;
  /** Whether the grade is of a future date; its verdict is not stored and has no effect. */
  readonly isRehearsal: boolean;
  readonly refreshed: Refreshed;
}

/**
 * Grades one version of a model.
 * 1. Updates its daily figures and adds them up. Only unchanged days of earlier grades are reused.
 * 2. Tests the gates, and combines the result with the previous verdict.
 * 3. Stores the verdict unless it is a rehearsal. A rehearsal stores its days, because they do not depend on
 *    the date.
 * @throws MongoDB errors; the stored verdict is then unchanged
 */
export async function gradeVersion(options: GradeOptions): Promise<Graded> {
  const { database, facts } = options;
  const graded: GradedVersion = {
    organisationId: options.organisationId,
    modelId: options.modelId,
    version: options.version,
    horizonDays: horizonDaysOf(facts),
    countsCandidateScores: options.candidateRun !== undefined,
  };
  const store = new ValidationStore(database);
  for (;;) {
    const previous = await store.find(gradedKey(graded), readTimeoutMs);
    const computed = await inSnapshot(database, (session) => compute(options, { graded, previous, session }));
    const result = { ...computed, isRehearsal: options.asOfMs > options.nowMs };
    if (result.isRehearsal || (await store.replaceIfUnchanged(result.verdict, previous))) return result;
  }
}

interface Attempt {
  readonly graded: GradedVersion;
  readonly previous: StoredVerdict | undefined;
  readonly session: ClientSession;
}

async function compute(
  options: GradeOptions,
  { graded, previous, session }: Attempt,
): Promise<Omit<Graded, 'isRehearsal'>> {
  const { database, asOfMs, nowMs, facts, candidateRun } = options;
  const { horizonDays } = graded;
  const { localTime: readAt }: { localTime?: Date } = await database.command({ hello: 1 });
  if (readAt === undefined) throw new Error('MongoDB did not return its local time');
  const rebuild = options.rebuild === true || !canReuseDays(previous, { horizonDays, readAt, candidateRun });
  const before = previous?.grade;
  const daily = new ValidationDailyStore(database);
  const keptFromDay = await new RetentionStore(database).keptFromDay(session);
  const fromDay = Math.max(firstGradedDay(asOfMs, horizonDays), keptFromDay ?? Number.NEGATIVE_INFINITY);
  const refreshed = await refreshDays({
    snapshot: { database, session },
    daily,
    outcomes: new OutcomeStore(database),
    graded,
    fromDay,
    cut: new Date(asOfMs - horizonDays * dayMs),
    readAt,
    maxLeadsPerPass: options.maxLeadsPerPass ?? maxLeadsPerPass,
    before:
      rebuild || before === undefined
        ? undefined
        : { readAt: before.data_read_at, fromDay: firstGradedDay(before.as_of.getTime(), horizonDays) },
  });
  const days = await daily.days(gradedKey(graded), { maturedFrom: fromDay + horizonDays });
  // Queried only if needed: finding a call among those of other models can take long.
  const isNothingStored = days.every((day) => day.stored_rows === 0);
  const matured = { asOfMs, horizonDays, maturedOnCutDay: refreshed.maturedOnCutDay };
  const figures = sumDays(days, {
    ...matured,
    expectedLift: facts?.holdout_top_lift ?? defaultLift,
    countedForADay: isNothingStored && (await countedForADay({ database, session }, graded, { fromDay, asOfMs })),
  });
  const latestOutcomes = namesTooFew(figures)
    ? await compareLatestOutcomes(database, graded.organisationId)
    : undefined;
  const grade = gradeCohort({ ...figures, latestOutcomes });
  const standing = settledState(grade, standingOf(previous, nowMs), {
    ...gradedDays(days, matured),
    atMs: Math.max(asOfMs, nowMs),
  });
  const rebuiltAt = refreshed.isRebuild ? readAt : (before?.rebuilt_at ?? readAt);
  return {
    refreshed,
    verdict: {
      _id: gradedKey(graded),
      organisation_id: graded.organisationId,
      state: standing.state,
      failing_gate: standing.failingGate,
      summary: standing.summary,
      graded_at: new Date(nowMs),
      grade: {
        ...storedGrade(grade, standing),
        ...(candidateRun === undefined ? {} : { candidate_run: candidateRun }),
        as_of: new Date(asOfMs),
        horizon_days: horizonDays,
        data_read_at: readAt,
        rebuilt_at: rebuiltAt,
      },
    },
  };
}

/** Whether the unchanged days of the previous grade can be reused. */
const canReuseDays = (
  previous: StoredVerdict | undefined,
  {
    horizonDays,
    readAt,
    candidateRun,
  }: { readonly horizonDays: number; readonly readAt: Date; readonly candidateRun: string | undefined },
): boolean =>
  previous?.grade !== undefined &&
  previous.grade.horizon_days === horizonDays &&
  previous.grade.candidate_run === candidateRun &&
  readAt.getTime() - previous.grade.rebuilt_at.getTime() < rebuildAfterMs;

const storedGrade = (grade: Grade, { doubtedSinceMs, barrier }: Standing) => ({
  state: grade.state,
  gates: grade.gates,
  bands: grade.bands,
  ...(doubtedSinceMs === undefined ? {} : { doubted_since: new Date(doubtedSinceMs) }),
  ...(barrier === undefined ? {} : { barrier: storedBarrier(barrier) }),
});

const storedBarrier = ({ gate, conversions, cutDay }: Barrier) => ({ gate, conversions, cut_day: cutDay });

/** Ignores a verdict without a grade or of a future date. */
function standingOf(previous: StoredVerdict | undefined, nowMs: number): Standing | undefined {
  if (previous?.grade === undefined || isAhead(previous, nowMs)) return undefined;
  const { state, failing_gate: failingGate, summary, grade } = previous;
  if (state === 'unresolved' || state === 'not_applicable') return undefined;
  const { doubted_since: doubtedSince, barrier } = grade;
  const doubt = doubtedSince === undefined ? {} : { doubtedSinceMs: doubtedSince.getTime() };
  const standing = { state, failingGate, summary, ...doubt };
  if (barrier === undefined) return standing;
  const { gate, conversions, cut_day: cutDay } = barrier;
  return { ...standing, barrier: { gate, conversions, cutDay } };
}

/** Whether the ledger has a call with this version within the window that is older than 24 hours. */
async function countedForADay(
  { database, session }: Snapshot,
  { organisationId, modelId, version }: GradedVersion,
  { fromDay, asOfMs }: { readonly fromDay: number; readonly asOfMs: number },
): Promise<boolean> {
  const from = dayStartMs(fromDay);
  const row = await database.collection<LedgerRow>(callsCollection).findOne(
    {
      _id: idsOfOrganisation(organisationId),
      org: organisationId,
      bucket: 'live',
      month: { $gte: monthOf(from) },
      model: modelId,
      version,
      at: { $gte: new Date(from), $lte: new Date(asOfMs - dayMs) },
    },
    { projection: { _id: 1 }, session, hint: ledgerIndex },
  );
  return row !== null;
}
