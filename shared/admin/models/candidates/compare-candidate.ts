import { nextJudgedConversions, requiredOfComparison } from '../../../contract/comparison/comparison-verdict.js';
import { countText, figureText } from '../../../contract/figures.js';
import type { ShapeOf } from '../../../contract/schema.js';
import { defineAction } from '../../action.js';
import { AdminError } from '../../admin-error.js';
import { comparisonOutput } from '../../schemas/comparison.js';
import { modelInput } from '../../schemas/models.js';
import { requireModel } from '../read-models.js';
import { currentRunOf, runDocument } from './candidate-run.js';

type Comparison = NonNullable<ShapeOf<typeof comparisonOutput>['comparison']>;

/** The latest comparison of a model's candidate with the version that scores calls. */
export const showComparison = defineAction({
  name: 'model.comparison',
  description: 'Read the comparison of the candidate of a model with the version that scores calls.',
  role: 'viewer',
  effect: 'read',
  input: modelInput,
  output: comparisonOutput,
  async run(context, input) {
    const model = await requireModel(context, input);
    if (model.candidate === undefined)
      throw new AdminError(
        'not_found',
        `${model._id} has no candidate. Import a version as a candidate, or make a stored one the candidate`,
      );
    const current = await currentRunOf(context.database, model);
    const [run, stored] = [runDocument(model, current), current?.comparison];
    const comparison = stored === undefined ? null : { ...stored, compared_at: stored.compared_at.toISOString() };
    return {
      model_id: model._id,
      base: model.version,
      candidate: model.candidate.version,
      run,
      comparison,
      summary: comparison === null ? withoutComparison(model.family, run) : summaryOf(comparison),
    };
  },
});

function withoutComparison(family: string, { state, summary }: ShapeOf<typeof comparisonOutput>['run']): string {
  if (family === 'timing') return 'Timing models are not compared: a comparison counts conversions.';
  return state === 'completed' ? `${summary} The comparison follows within 15 minutes.` : summary;
}

/** The verdict in words, with what it depends on. */
function summaryOf(comparison: Comparison): string {
  const { judged_conversions: judged } = comparison;
  if (judged === null) return `Too early: ${shortageOf(comparison)}.`;
  return [
    verdictText(comparison),
    `It was judged with ${countText(judged)} conversions, and is judged again with ${countText(nextJudgedConversions(judged))}.`,
    'Sales worked by the scores of the current version, which favours it.',
  ].join(' ');
}

function verdictText({ verdict, lift, missing_fields: missing }: Comparison): string {
  const [candidate = 0, base = 0] = [lift?.candidate[0], lift?.base[0]];
  const lifts = `the top fifth of the candidate converts ${figureText(candidate)} times as often as all leads, that of the current version ${figureText(base)} times.`;
  if (verdict === 'better') return `Better: ${lifts}`;
  if (verdict === 'worse') return `Worse: ${lifts}`;
  if (verdict === 'no_worse') return `No worse: ${lifts}`;
  if (missing.length > 0)
    return `Too early: these fields of the candidate were not recorded with the leads: ${missing.map((field) => `"${field}"`).join(', ')}.`;
  return `Too early: the difference is not clear yet; ${lifts}`;
}

/** The first required number that the leads do not reach. */
function shortageOf({ leads, conversions }: Comparison): string {
  const required = requiredOfComparison;
  if (leads < required.leads)
    return `${countText(leads)} of ${required.leads} leads have matured and are named by outcome data`;
  if (conversions < required.conversions) return `${countText(conversions)} of ${required.conversions} conversions`;
  return `${countText(leads - conversions)} of ${required.others} leads that did not convert`;
}
