import { minuteText } from '../../../shared/contract/dates.js';
import { countText } from '../../../shared/contract/figures.js';
import type { FailingGate } from '../../../shared/contract/verdict.js';
import type { GradedDays } from '../cohort/sum-days.js';
import type { Judgement } from './grade-cohort.js';

/** The state that one grade passes to the next. */
export interface Standing {
  readonly state: Judgement['state'];
  readonly failingGate: FailingGate | null;
  readonly summary: string;
  /** When the first of the grades that have not cleared since the pass was computed, Unix ms. Absent if none has. */
  readonly doubtedSinceMs?: number;
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

/**
 * A passed model loses its pass only to a grade this long after the first that did not clear, if none has cleared in
 * between. A grade may count half of an import, and another may follow 15 minutes later. The next night is late
 * enough.
 */
const doubtMs = 20 * 60 * 60 * 1000;
/** Begins the words about a doubt, which the next grade replaces. */
const doubtMark = '; the latest grade did not clear ';
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
 * @param days `atMs`: when the grade is computed, Unix ms
 */
export function settledState(
  grade: Judgement,
  previous: Standing | undefined,
  { atMs, ...days }: GradedDays & { readonly atMs: number },
): Standing {
  if (grade.state !== 'passed' && previous?.state === 'passed') {
    const { doubtedSinceMs = atMs } = previous;
    if (atMs - doubtedSinceMs < doubtMs) return heldPass(grade, { ...previous, doubtedSinceMs });
  }
  const barrier = previous?.barrier;
  if (grade.state === 'failed') return standingOf(grade, barrierAfter(grade, barrier, days));
  if (grade.state === 'too_early_to_grade') return standingOf(grade, barrier);
  if (barrier === undefined || isMet(barrier, grade, days)) return standingOf(grade);
  return {
    state: 'failed',
    failingGate: barrier.gate,
    summary:
      `Failed at ${barrier.gate}: the gates clear now, but a failed model passes again only with ` +
      `${countText(additionalNeeded(barrier))} more conversions, ` +
      `20 % of the ${countText(barrier.conversions)} that failed it; ` +
      `${countText(additionalSince(barrier, grade, days))} have come since.`,
    barrier,
  };
}

/** The pass before a grade that did not clear, whose gate the summary names. */
function heldPass({ failingGate }: Judgement, passed: Standing & { readonly doubtedSinceMs: number }): Standing {
  const [before = ''] = passed.summary.replace(/\.$/, '').split(doubtMark, 1);
  const until = minuteText(passed.doubtedSinceMs + doubtMs);
  return {
    ...passed,
    summary: `${before}${doubtMark}${failingGate}, and one like it after ${until} would end the pass.`,
  };
}

/** Additional conversions that a failed model needs to pass. */
const additionalNeeded = ({ conversions }: Barrier): number => Math.ceil(conversions * additionalShare - 1e-9);

/** Additional conversions so far, of leads that have matured since or got outcome data since. */
const additionalSince = (barrier: Barrier, { conversions }: Judgement, { conversionsAfter }: GradedDays): number =>
  Math.max(0, conversions - barrier.conversions, conversionsAfter(barrier.cutDay));

const isMet = (barrier: Barrier, grade: Judgement, days: GradedDays): boolean =>
  additionalSince(barrier, grade, days) >= additionalNeeded(barrier);

/** A failing grade that had met the barrier raises it; any other leaves it unchanged. */
function barrierAfter(grade: Judgement, before: Barrier | undefined, days: GradedDays): Barrier | undefined {
  const { failingGate, conversions } = grade;
  if (failingGate === null || !outcomeGates.includes(failingGate)) return before;
  if (before !== undefined && !isMet(before, grade, days)) return before;
  return { gate: failingGate, conversions, cutDay: days.cutDay };
}

const standingOf = ({ state, failingGate, summary }: Judgement, barrier?: Barrier): Standing => ({
  state,
  failingGate,
  summary,
  ...(barrier === undefined ? {} : { barrier }),
});
