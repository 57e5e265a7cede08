import { countText } from '../../../shared/contract/figures.js';
import type { FailingGate } from '../../../shared/contract/verdict.js';
import type { GradedDays } from '../cohort/sum-days.js';
import type { Judgement } from './grade-cohort.js';

/** The state that one grade passes to the next. */
export interface Standing {
  readonly state: Judgement['state'];
  readonly failingGate: FailingGate | null;
  readonly summary: string;
  /** Consecutive failing grades, including the last. */
  readonly failingGrades: number;
  /** Set when outcomes fail the model, removed when it passes. */
  readonly barrier?: Barrier;
}

/** Requirement that a model failed by its outcomes must meet before it passes again. */
export interface Barrier {
  readonly gate: FailingGate;
  /** Conversions at the failing grade. */
  readonly conversions: number;
  /** Number of the last day whose predictions had matured at the failing grade. */
  readonly cutDay: number;
}

/** A passed model fails only after this many consecutive failing grades. */
const failingGradesToFail = 2;
/**
 * A failed model passes only with this share of additional conversions. A grade covers one year, in which conversions
 * leave as others arrive. Conversions that have matured since the failing grade therefore count as well.
 */
const additionalShare = 0.2;
/**
 * Gates that test outcomes, and can be passed by luck if tested repeatedly. A cohort that failed to reconcile passes as
 * soon as it reconciles.
 */
const outcomeGates: readonly FailingGate[] = ['outcomes_observed', 'rate_rises_with_band', 'top_band_lift'];

/**
 * Computes the state after a grade from the previous one. It changes slowly, because repeated tests of the same leads
 * produce false results.
 * @param previous undefined for the first grade
 */
export function settledState(grade: Judgement, previous: Standing | undefined, days: GradedDays): Standing {
  if (grade.state === 'failed') return afterFailingGrade(grade, previous, days);
  const barrier = previous?.barrier;
  if (grade.state === 'too_early_to_grade') return standingOf(grade, { failingGrades: 0, barrier });
  if (barrier === undefined || isMet(barrier, grade, days)) return standingOf(grade, { failingGrades: 0 });
  return {
    state: 'failed',
    failingGate: barrier.gate,
    summary:
      `Failed at ${barrier.gate}: the gates clear now, but a failed model passes again only with ` +
      `${countText(additionalNeeded(barrier))} more conversions, ` +
      `20 % of the ${countText(barrier.conversions)} that failed it; ` +
      `${countText(additionalSince(barrier, grade, days))} have come since.`,
    failingGrades: 0,
    barrier,
  };
}

/** Additional conversions that a failed model needs to pass. */
const additionalNeeded = ({ conversions }: Barrier): number => Math.ceil(conversions * additionalShare - 1e-9);

/** Additional conversions so far, of leads that have matured since or got outcome data since. */
const additionalSince = (barrier: Barrier, { conversions }: Judgement, { conversionsAfter }: GradedDays): number =>
  Math.max(0, conversions - barrier.conversions, conversionsAfter(barrier.cutDay));

const isMet = (barrier: Barrier, grade: Judgement, days: GradedDays): boolean =>
  additionalSince(barrier, grade, days) >= additionalNeeded(barrier);

function afterFailingGrade(grade: Judgement, previous: Standing | undefined, days: GradedDays): Standing {
  const failingGrades = (previous?.failingGrades ?? 0) + 1;
  if (previous?.state === 'passed' && failingGrades < failingGradesToFail) {
    const summary =
      `${previous.summary.replace(/\.$/, '')}; the latest grade did not clear ${grade.failingGate}, ` +
      'and a second one in a row would fail the model.';
    return { state: 'passed', failingGate: null, summary, failingGrades };
  }
  return standingOf(grade, { failingGrades, barrier: barrierAfter(grade, previous?.barrier, days) });
}

/** A failing grade that had met the barrier raises it; any other leaves it unchanged. */
function barrierAfter(grade: Judgement, before: Barrier | undefined, days: GradedDays): Barrier | undefined {
  const { failingGate, conversions } = grade;
  if (failingGate === null || !outcomeGates.includes(failingGate)) return before;
  if (before !== undefined && !isMet(before, grade, days)) return before;
  return { gate: failingGate, conversions, cutDay: days.cutDay };
}

const standingOf = (
  { state, failingGate, summary }: Judgement,
  { failingGrades, barrier }: { readonly failingGrades: number; readonly barrier?: Barrier | undefined },
): Standing => ({
  state,
  failingGate,
  summary,
  failingGrades,
  ...(barrier === undefined ? {} : { barrier }),
});
