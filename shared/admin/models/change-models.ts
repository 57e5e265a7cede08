import { FieldDayStore } from '../../store/models/field-days.js';
import { type Model, type ModelFields, ModelStore, type RemovableField } from '../../store/models/models.js';
import { type ActionContext, defineAction, difference } from '../action.js';
import { deleteModelOutput, modelInput, modelSchema, overrideInput, setModelInput } from '../schemas/models.js';
import { modelDocument, requireModel, requireVersion, settingsOf } from './read-models.js';
import { newRescoring } from './rescoring.js';
import { endedBy, previousAfter, requireServable } from './serve-version.js';

/** Changes the given settings of a model: Live API, name, version, override, jobs of stored leads. */
export const setModel = defineAction({
  name: 'model.set',
  description: 'Change settings of a model. An override lets its version score without passed validation.',
  role: 'admin',
  effect: 'change',
  input: setModelInput,
  output: modelSchema,
  async run(context, input) {
    const { model_id: modelId, live_api: liveApi, name, version, override, rescore } = input;
    const model = await requireModel(context, input);
    if (version !== undefined) await requireVersion(context, modelId, version);
    const reason = override?.reason;
    const changes: ModelFields = {
      ...(liveApi === undefined ? {} : { live_api: liveApi }),
      ...(name === undefined ? {} : { name: name.trim() }),
      ...(version === undefined ? {} : { version }),
      ...(reason === undefined ? {} : { override: newOverride(context, version ?? model.version, reason) }),
      ...(rescore && {
        rescore: await newRescoring(context, { ...model, version: version ?? model.version }, rescore),
      }),
    };
    const removed: RemovableField[] = [
      ...(override === null ? (['override'] as const) : []),
      ...(rescore === null ? (['rescore'] as const) : []),
    ];
    return await changeModel(context, model, { changes, removed, reason });
  },
});

/** Lets the current version of a model score without passed validation. */
export const overrideModel = defineAction({
  name: 'model.override',
  description: 'Let the current version of a model score although it has not passed validation.',
  role: 'admin',
  effect: 'change',
  input: overrideInput,
  output: modelSchema,
  async run(context, input) {
    const model = await requireModel(context, input);
    const changes = { override: newOverride(context, model.version, input.reason) };
    return await changeModel(context, model, { changes, reason: input.reason });
  },
});

export const removeOverride = defineAction({
  name: 'model.remove_override',
  description: 'Remove the override of a model, so that the deploy policy counts again.',
  role: 'admin',
  effect: 'change',
  input: modelInput,
  output: modelSchema,
  run: async (context, input) =>
    changeModel(context, await requireModel(context, input), { changes: {}, removed: ['override'] }),
});

/** Deletes a model. Its versions stay, because their past scores fill in fields of known records. */
export const deleteModel = defineAction({
  name: 'model.delete',
  description: 'Delete a model permanently: calls to it get 404. Its past scores stay for known records.',
  role: 'admin',
  effect: 'change',
  input: modelInput,
  output: deleteModelOutput,
  async run(context, input) {
    const { database, session, clock, record, announce } = context;
    const { _id: id, name, organisation_id: organisationId } = await requireModel(context, input);
    const now = new Date(clock.now());
    await new ModelStore(database, session).update(id, { deleted_at: now });
    await new FieldDayStore(database).removeModel({ org: organisationId, model: id }, session);
    await record({ organisationId, target: id, before: { name }, after: { deleted_at: now } });
    announce({ kind: 'model', id });
    return { model_id: id, deleted_at: now.toISOString() };
  },
});

/**
 * Stores, records and announces changes of a model.
 * @throws AdminError would_block for another version that the deploy policy blocks
 */
export async function changeModel(
  context: ActionContext,
  before: Model,
  how: {
    readonly changes: ModelFields;
    readonly removed?: readonly RemovableField[];
    readonly reason?: string | undefined;
    /** Further members of the entry in the audit log. */
    readonly noted?: Readonly<Record<string, unknown>>;
  },
): ReturnType<typeof modelDocument> {
  const { database, session, record, announce } = context;
  const { changes, reason, noted } = how;
  const removed = [...(how.removed ?? []), ...endedBy(before, changes)];
  if (changes.version !== undefined && changes.version !== before.version) {
    const { override, ...others } = { ...before, ...changes };
    const isKept = override !== undefined && !removed.includes('override');
    await requireServable(context, isKept ? { ...others, override } : others);
  }
  if (Object.keys(changes).length + removed.length > 0) {
    const fields = { ...changes, ...previousAfter(before, changes, removed) };
    await new ModelStore(database, session).update(before._id, fields, removed);
  }
  const after = await requireModel(context, { model_id: before._id });
  const differing = difference(settingsOf(before), settingsOf(after));
  if (Object.keys(differing.after ?? {}).length + Object.keys(differing.before ?? {}).length > 0)
    await record({
      organisationId: before.organisation_id,
      target: before._id,
      ...differing,
      after: { ...differing.after, ...noted },
      ...(reason === undefined ? {} : { reason }),
    });
  announce({ kind: 'model', id: before._id });
  return await modelDocument(context, after);
}

export const newOverride = ({ actor, clock }: ActionContext, version: string, reason: string) => ({
  ...{ version, reason: reason.trim() },
  by: actor.name,
  at: new Date(clock.now()),
});
