import type { Candidate, Model } from '../../../store/models/models.js';
import { type ActionContext, defineAction } from '../../action.js';
import { AdminError } from '../../admin-error.js';
import { candidateInput, modelInput, modelSchema } from '../../schemas/models.js';
import { changeModel } from '../change-models.js';
import { requireModel, requireVersion } from '../read-models.js';

/** Makes a stored version the candidate of its model. It scores no calls. */
export const setCandidate = defineAction({
  name: 'model.candidate',
  description: 'Make a stored version the candidate of its model. It scores no calls.',
  role: 'admin',
  effect: 'change',
  input: candidateInput,
  output: modelSchema,
  async run(context, input) {
    const model = await requireModel(context, input);
    await requireVersion(context, model._id, input.version);
    requireNoOther(model, input.version);
    return await changeModel(context, model, { changes: { candidate: candidateOf(context, input.version) } });
  },
});

/** Ends the candidacy of a version, which stays stored. */
export const dropCandidate = defineAction({
  name: 'model.drop_candidate',
  description: 'End the candidacy of a version. The version stays stored.',
  role: 'admin',
  effect: 'change',
  input: modelInput,
  output: modelSchema,
  async run(context, input) {
    const model = await requireModel(context, input);
    if (model.candidate === undefined) throw new AdminError('not_found', `${model._id} has no candidate.`);
    return await changeModel(context, model, { changes: {}, removed: ['candidate'] });
  },
});

export const candidateOf = ({ actor, clock }: Pick<ActionContext, 'actor' | 'clock'>, version: string): Candidate => ({
  version,
  since: new Date(clock.now()),
  by: actor.name,
});

/**
 * Refuses a second candidate: the evidence about the first would be lost.
 * @throws AdminError conflict
 */
export function requireNoOther({ _id: id, candidate }: Model, version: string): void {
  if (candidate === undefined || candidate.version === version) return;
  throw new AdminError(
    'conflict',
    `${id} has the candidate "${candidate.version}", and a model has one. Drop it first`,
    {
      hasCandidate: id,
    },
  );
}
