import { comparisonVerdicts } from '../../contract/comparison/comparison-verdict.js';
import { closedObject, count, countOrNull, instant, list, number, share, text } from '../../contract/schema.js';
import { candidateRunSchema } from './models.js';

/** A value and the bounds of its interval of 2.5 standard errors. */
const bounded = { ...list(number), minItems: 3, maxItems: 3 } as const;

/** One statistic by both versions over the same leads; null with too few. */
const boundedPair = {
  ...closedObject({ base: bounded, candidate: bounded, difference: bounded }),
  type: ['object', 'null'],
} as const;

/** The latest comparison. Null until the run is complete; see docs/validation.md. */
const comparisonSchema = {
  ...closedObject({
    base: text,
    candidate: text,
    /** All leads that both versions score. */
    scored: count,
    /** Leads among them that the candidate may have been trained on. */
    seen: count,
    /** The judged leads. */
    leads: count,
    conversions: count,
    horizon_days: count,
    /** Share of all leads in another score band. */
    moved: share,
    /** Five rows by the band of the base, with five columns by that of the candidate, lowest scores first. */
    moves: list(list(count)),
    psi: closedObject({ value: number, chance_99: number }),
    lift: boundedPair,
    auc: boundedPair,
    missing_fields: list(text),
    verdict: { type: 'string', enum: comparisonVerdicts },
    judged_conversions: countOrNull,
    compared_at: instant,
  }),
  type: ['object', 'null'],
} as const;

/** The candidate of a model against the version that scores calls. */
export const comparisonOutput = closedObject({
  model_id: text,
  /** The version that scores calls. */
  base: text,
  candidate: text,
  run: candidateRunSchema,
  comparison: comparisonSchema,
  /** The result in words. */
  summary: text,
});
