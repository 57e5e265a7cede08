import { deathsOf } from '../../../messages/deaths.js';
import type { Redis } from '../../../redis/connect.js';
import { modelStrikesKey } from '../../../redis/keys.js';
import { versionId } from '../../../store/models/model-versions.js';
import type { Model } from '../../../store/models/models.js';
import { type AdminContext, defineAction } from '../../action.js';
import { AdminError } from '../../admin-error.js';
import { modelSchema, promoteInput, rollbackInput } from '../../schemas/models.js';
import { changeModel, newOverride } from '../change-models.js';
import { requireModel, requireVersion } from '../read-models.js';
import { currentRunOf } from './candidate-run.js';

/** Lets the candidate of a model score calls. It is no candidate then, and a rollback restores the version before. */
export const promoteCandidate = defineAction({
  name: 'model.promote',
  description: 'Let the candidate of a model score calls. A rollback restores the version before.',
  role: 'admin',
  effect: 'change',
  input: promoteInput,
  output: modelSchema,
  // Redis takes no part in the transaction.
  prepare: async ({ redis, clock }, { model_id, candidate: version }) => ({
    isInQuarantine: await isKnownInQuarantine(redis, versionId(model_id, version), clock.now()),
  }),
  async run(context, input, { isInQuarantine }) {
    const { current, candidate, force, override } = input;
    const model = await requireModel(context, input);
    const refused = `Version "${candidate}" of ${model._id} was not promoted`;
    requireUnchanged(refused, [
      ['current version', model.version, current],
      ['candidate', model.candidate?.version, candidate],
    ]);
    if (candidate === current)
      throw new AdminError('conflict', `${refused}: it scores calls already. Make another version the candidate`);
    const doubts = await doubtsOf(context, model, isInQuarantine);
    const [doubt] = doubts;
    if (doubt !== undefined && force === undefined) {
      const because = doubts.map(({ because }) => because).join(', and ');
      throw new AdminError(
        'needs_force',
        `${refused}: ${because}. ${doubt.remedy}, or promote it by force with a reason`,
      );
    }
    const reasons = [force?.reason, override?.reason].flatMap((reason) =>
      reason === undefined ? [] : [reason.trim()],
    );
    return await changeModel(context, model, {
      changes: { version: candidate, ...(override && { override: newOverride(context, candidate, override.reason) }) },
      // An override that this version had before was not given for this promotion.
      removed: override === undefined ? ['override'] : [],
      reason: reasons.length === 0 ? undefined : [...new Set(reasons)].join('; '),
      ...(doubts.length > 0 && { noted: { in_spite_of: doubts.map(({ because }) => because) } }),
    });
  },
});

/** Lets the version before score calls again, with the override that it had. */
export const rollBackModel = defineAction({
  name: 'model.rollback',
  description: 'Let the version score calls again that did before the current one, with the override that it had.',
  role: 'admin',
  effect: 'change',
  input: rollbackInput,
  output: modelSchema,
  async run(context, input) {
    const model = await requireModel(context, input);
    const { version } = model.previous ?? {};
    requireUnchanged(`${model._id} was not rolled back`, [
      ['current version', model.version, input.current],
      ['previous version', version, input.previous],
    ]);
    await requireVersion(context, model._id, input.previous);
    const reason = input.override?.reason;
    const override = reason === undefined ? model.previous?.override : newOverride(context, input.previous, reason);
    return await changeModel(context, model, {
      changes: { version: input.previous, ...(override && { override }) },
      // Without a version before, a repeated rollback does not bring back the version that was left.
      removed: override === undefined ? ['previous', 'override'] : ['previous'],
      reason,
    });
  },
});

/**
 * Refuses a change of a model that differs from the one that the caller has seen.
 * @param refused what was not done
 * @param facts each with its value now, and the one that the caller names
 * @throws AdminError changed_meanwhile
 */
function requireUnchanged(
  refused: string,
  facts: readonly (readonly [fact: string, now: string | undefined, named: string])[],
): void {
  for (const [fact, now, named] of facts) {
    if (now === named) continue;
    const state = now === undefined ? `there is no ${fact}` : `the ${fact} is "${now}", not "${named}"`;
    throw new AdminError('changed_meanwhile', `${refused}: ${state}. Look at the model again, then decide`);
  }
}

/** A fact that speaks against a promotion, and the way out. */
interface Doubt {
  readonly because: string;
  readonly remedy: string;
}

/** The facts that speak against the promotion of a model's candidate, apart from the deploy policy. */
async function doubtsOf(
  { database }: Pick<AdminContext, 'database'>,
  model: Model,
  isInQuarantine: boolean,
): Promise<Doubt[]> {
  const run = await currentRunOf(database, model);
  const doubts: Doubt[] = [];
  if (run?.state === 'failed')
    doubts.push({
      because: `its run failed (${run.message?.replace(/\.$/, '') ?? 'for no known reason'})`,
      remedy: 'Import a version that can be run',
    });
  else if (run?.state !== 'completed')
    doubts.push({ because: 'its run is not finished', remedy: 'Wait for its comparison' });
  // Timing models are not compared.
  else if (run.comparison === undefined && model.family !== 'timing')
    doubts.push({ because: 'it is not compared yet', remedy: 'Wait for its comparison' });
  else if (run.comparison?.verdict === 'worse')
    doubts.push({ because: 'its comparison says that it is worse', remedy: 'Drop the candidate' });
  if (isInQuarantine)
    doubts.push({ because: 'it is in quarantine, because it ended worker processes', remedy: 'Drop the candidate' });
  return doubts;
}

/** Without Redis a quarantine is not known. Calls are not scored then either. */
async function isKnownInQuarantine(connect: () => Promise<Redis>, id: string, nowMs: number): Promise<boolean> {
  try {
    const strikes = await (await connect()).hget(modelStrikesKey, id);
    return deathsOf(id, strikes ?? undefined).untilMs > nowMs;
  } catch {
    return false;
  }
}
