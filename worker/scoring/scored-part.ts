import type { PartReply } from '../../shared/messages/score-job.js';
import type { LoadedModel } from '../models/loaded-model.js';
import type { FeaturizedPart } from './featurize-part.js';
import { type KnownLead, leadOf } from './lead-lookup.js';

/** What a part is answered with, from what the model gave for its rows. */
export function scoredPart(
  { part, firstRow, filled }: FeaturizedPart,
  by: {
    readonly model: LoadedModel;
    readonly leads: ReadonlyMap<string, KnownLead>;
    readonly raw: Float64Array;
    readonly epoch: string | undefined;
  },
): PartReply {
  const { model, leads, raw, epoch } = by;
  const scores: number[] = [];
  const likelihoods: number[] = [];
  const matched: (0 | 1)[] = [];
  const previous: (number | null)[] = [];
  const warnings: [number, string][] = [];
  for (const [index, cells] of part.rows.entries()) {
    const probability = raw[firstRow + index] ?? Number.NaN;
    if (Number.isNaN(probability)) return notComputable(part.firstRow + index);
    scores.push(model.percentileScore(probability));
    likelihoods.push(model.likelihood(probability));
    const lead = leadOf(part, index, leads);
    matched.push(lead === undefined ? 0 : 1);
    previous.push(lead?.previousScore ?? null);
    const warning = model.recencyGuard(cells, part.now);
    if (warning !== undefined) warnings.push([index, warning]);
  }
  const noted = epoch === undefined ? {} : { epoch };
  return { scores, likelihoods, matched, previous, ...noted, warnings, filled };
}

/** A model without a rule for missing values (a linear one without `impute`) gives NaN: that record is refused. */
const notComputable = (record: number): PartReply => ({
  problemCount: 1,
  problems: [
    { record, field: '', expected: 'fields from which the model can compute a probability', came: 'NaN' },
  ],
});
