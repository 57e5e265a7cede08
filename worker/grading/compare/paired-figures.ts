import { areaUnderCurve } from './area-under-curve.js';
import { type Evidence, isEnough } from './judge.js';
import { pairedEstimates } from './paired-estimates.js';
import { countByLikelihood, type PairedColumns } from './paired-leads.js';
import { topFifthLift } from './top-fifth-lift.js';

/** Lift and AUC of two versions over the same leads; without them if there are too few. */
export function pairedFigures(leads: PairedColumns): Omit<Evidence, 'missingFields'> {
  const base = countByLikelihood(leads.base, leads.converted);
  const counted = { leads: base.leads, conversions: base.conversions };
  if (!isEnough(counted)) return { ...counted, figures: undefined };
  const candidate = countByLikelihood(leads.candidate, leads.converted);
  return {
    ...counted,
    figures: {
      lift: pairedEstimates(topFifthLift(base), topFifthLift(candidate), leads),
      auc: pairedEstimates(areaUnderCurve(base), areaUnderCurve(candidate), leads),
    },
  };
}
