import type { FailingGate } from '../../shared/verdict.js';
import { counted } from './gate-outcome.js';
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
}

/** A passed model turns failed only after this many failing grades in a row. */
const failingGradesToFail = 2;
/** A failed model turns passed only on a grade with this many times the conversions. */
const moreConversions = 1.2;
/**
 * The gates that look at outcomes: only a repeated look at those can be passed by luck. A cohort that did not reconcile
 * fails for another reason, and may pass as soon as it does.
 */
const outcomeGates: readonly FailingGate[] = ['outcomes_observed', 'rate_rises_with_band', 'top_band_lift'];

/**
 * The state after a grade, given the one before: it changes slowly, since each of many looks at the same leads may err.
 * @param previous undefined for a first grade
 */
export function settledState(grade: Judgement, previous: Standing | undefined): Standing {
  if (grade.state === 'failed') return afterFailingGrade(grade, previous);
  const barrier = previous?.barrier;
  if (grade.state === 'too_early_to_grade') return standingOf(grade, { failingGrades: 0, barrier });
  if (barrier === undefined || grade.conversions >= neededAt(barrier))
    return standingOf(grade, { failingGrades: 0 });
  return {
    state: 'failed',
    failingGate: barrier.gate,
    summary:
      `Failed at ${barrier.gate}: the gates clear now, but a failed model passes again only with ` +
      `${counted(neededAt(barrier))} conversions, 20 % more than those that failed it; ${counted(grade.conversions)} have been observed.`,
    failingGrades: 0,
    barrier,
  };
}

/** Conversions that a failed model must show to pass again. */
const neededAt = ({ conversions }: Barrier): number => Math.ceil(conversions * moreConversions - 1e-9);

function afterFailingGrade(grade: Judgement, previous: Standing | undefined): Standing {
  const failingGrades = (previous?.failingGrades ?? 0) + 1;
  if (previous?.state === 'passed' && failingGrades < failingGradesToFail) {
    const summary =
      `${previous.summary.replace(/\.$/, '')}; the latest grade did not clear ${grade.failingGate}, and a second one ` +
      'in a row would fail the model.';
    return { state: 'passed', failingGate: null, summary, failingGrades };
  }
  return standingOf(grade, { failingGrades, barrier: barrierAfter(grade, previous?.barrier) });
}

/** A look that was allowed to pass and failed raises the barrier; one below it changes nothing. */
function barrierAfter(
  { failingGate, conversions }: Judgement,
  before: Barrier | undefined,
): Barrier | undefined {
  if (failingGate === null || !outcomeGates.includes(failingGate)) return before;
  if (before !== undefined && conversions < neededAt(before)) return before;
  return { gate: failingGate, conversions };
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
