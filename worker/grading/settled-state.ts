import type { FailingGate } from '../../shared/verdict.js';
import type { GradedDays } from './cohort/sum-days.js';
import { counted } from './gates/gates.js';
import type { Judgement } from './grade-cohort.js';

/** What a grade leaves behind for the next one. */
export interface Standing {
  readonly state: Judgement['state'];
  readonly failingGate: FailingGate | null;
  readonly summary: string;
  /** Failing grades in a row, up to the last. */
  readonly failingGrades: number;
  /** Set from when the outcomes have failed the model until it passes. */
  readonly barrier?: Barrier;
}

/** What a model that its outcomes have failed must show before it may pass again. */
export interface Barrier {
  readonly gate: FailingGate;
  /** Conversions that were there when it failed. */
  readonly conversions: number;
  /** The last day whose predictions had matured then, by its number. */
  readonly cutDay: number;
}

/** A passed model turns failed only after this many failing grades in a row. */
const failingGradesToFail = 2;
/**
 * A failed model turns passed only on a grade with this share of its conversions more. A grade looks back a year: once that is
 * full, as many conversions leave it as come, so those that have matured since count as well.
 */
const shareOfMore = 0.2;
/**
 * The gates that look at outcomes: only a repeated look at those can be passed by luck. A cohort that did not reconcile
 * fails for another reason, and may pass as soon as it does.
 */
const outcomeGates: readonly FailingGate[] = ['outcomes_observed', 'rate_rises_with_band', 'top_band_lift'];

/**
 * The state after a grade, given the one before: it changes slowly, since each of many looks at the same leads may err.
 * @param previous undefined for a first grade
 */
export function settledState(grade: Judgement, previous: Standing | undefined, days: GradedDays): Standing {
  if (grade.state === 'failed') return afterFailingGrade(grade, previous, days);
  const barrier = previous?.barrier;
  if (grade.state === 'too_early_to_grade') return standingOf(grade, { failingGrades: 0, barrier });
  if (barrier === undefined || isOver(barrier, grade, days)) return standingOf(grade, { failingGrades: 0 });
  return {
    state: 'failed',
    failingGate: barrier.gate,
    summary:
      `Failed at ${barrier.gate}: the gates clear now, but a failed model passes again only with ` +
      `${counted(moreNeeded(barrier))} more conversions, 20 % of the ${counted(barrier.conversions)} that failed it; ` +
      `${counted(moreThan(barrier, grade, days))} have come since.`,
    failingGrades: 0,
    barrier,
  };
}

/** Further conversions that a failed model must show to pass again. */
const moreNeeded = ({ conversions }: Barrier): number => Math.ceil(conversions * shareOfMore - 1e-9);

/** Those that it shows: of leads that have matured since, or that outcome data has told of since. */
const moreThan = (barrier: Barrier, { conversions }: Judgement, { conversionsAfter }: GradedDays): number =>
  Math.max(0, conversions - barrier.conversions, conversionsAfter(barrier.cutDay));

const isOver = (barrier: Barrier, grade: Judgement, days: GradedDays): boolean =>
  moreThan(barrier, grade, days) >= moreNeeded(barrier);

function afterFailingGrade(grade: Judgement, previous: Standing | undefined, days: GradedDays): Standing {
  const failingGrades = (previous?.failingGrades ?? 0) + 1;
  if (previous?.state === 'passed' && failingGrades < failingGradesToFail) {
    const summary =
      `${previous.summary.replace(/\.$/, '')}; the latest grade did not clear ${grade.failingGate}, and a second one ` +
      'in a row would fail the model.';
    return { state: 'passed', failingGate: null, summary, failingGrades };
  }
  return standingOf(grade, { failingGrades, barrier: barrierAfter(grade, previous?.barrier, days) });
}

/** A look that was allowed to pass and failed raises the barrier; one below it changes nothing. */
function barrierAfter(grade: Judgement, before: Barrier | undefined, days: GradedDays): Barrier | undefined {
  const { failingGate, conversions } = grade;
  if (failingGate === null || !outcomeGates.includes(failingGate)) return before;
  if (before !== undefined && !isOver(before, grade, days)) return before;
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
