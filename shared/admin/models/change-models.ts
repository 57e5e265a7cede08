import type { Db } from '../../store/connection/connect.js';
import { FieldDayStore } from '../../store/models/field-days.js';
import { versionsByModel } from '../../store/models/model-versions.js';
import { type Model, ModelStore } from '../../store/models/models.js';
import { type ActionContext, defineAction, difference } from '../action.js';
import { AdminError, invalid } from '../admin-error.js';
import {
  deleteModelOutput,
  modelInput,
  modelSchema,
  overrideInput,
  rollbackInput,
  setModelInput,
} from '../schemas/models.js';
import { modelDocument, requireModel, settingsOf } from './read-models.js';

type ModelChanges = Parameters<ModelStore['update']>[1];

/** Changes the given settings of a model: Live API, name, version, override. */
export const setModel = defineAction({
  name: 'model.set',
  description: 'Change settings of a model. An override lets its version score without passed validation.',
  role: 'admin',
  effect: 'change',
  input: setModelInput,
  output: modelSchema,
  async run(context, input) {
    const { model_id: modelId, live_api: liveApi, name, version, override } = input;
    const model = await requireModel(context, input);
    if (version !== undefined) await requireVersion(context.database, modelId, version);
    const reason = override?.reason;
    const changes: ModelChanges = {
      ...(liveApi === undefined ? {} : { live_api: liveApi }),
      ...(name === undefined ? {} : { name: name.trim() }),
      ...(version === undefined ? {} : { version }),
      ...(reason === undefined ? {} : { override: newOverride(context, version ?? model.version, reason) }),
    };
    return await changeModel(context, model, { changes, removesOverride: override === null, reason });
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
    changeModel(context, await requireModel(context, input), { changes: {}, removesOverride: true }),
});

export const rollBackModel = defineAction({
  name: 'model.rollback',
  description: 'Let another stored version of a model score calls.',
  role: 'admin',
  effect: 'change',
  input: rollbackInput,
  output: modelSchema,
  async run(context, input) {
    const model = await requireModel(context, input);
    if (model.version === input.version) throw invalid('version', 'is the version that scores calls already.');
    await requireVersion(context.database, model._id, input.version);
    return await changeModel(context, model, { changes: { version: input.version } });
  },
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

/** Stores, records and announces changes of a model. */
async function changeModel(
  context: ActionContext,
  before: Model,
  how: { readonly changes: ModelChanges; readonly removesOverride?: boolean; readonly reason?: string | undefined },
): ReturnType<typeof modelDocument> {
  const { database, session, record, announce } = context;
  const { changes, removesOverride = false, reason } = how;
  const store = new ModelStore(database, session);
  if (Object.keys(changes).length > 0) await store.update(before._id, changes);
  if (removesOverride) await store.removeOverride(before._id);
  const after = await requireModel(context, { model_id: before._id });
  const differing = difference(settingsOf(before), settingsOf(after));
  if (Object.keys(differing.after ?? {}).length + Object.keys(differing.before ?? {}).length > 0)
    await record({
      organisationId: before.organisation_id,
      target: before._id,
      ...differing,
      ...(reason === undefined ? {} : { reason }),
    });
  announce({ kind: 'model', id: before._id });
  return await modelDocument(context, after);
}

const newOverride = ({ actor, clock }: ActionContext, version: string, reason: string) => ({
  ...{ version, reason: reason.trim() },
  by: actor.name,
  at: new Date(clock.now()),
});

async function requireVersion(database: Db, modelId: string, version: string): Promise<void> {
  const versions = (await versionsByModel(database, modelId)).get(modelId) ?? [];
  if (versions.includes(version)) return;
  throw new AdminError(
    'not_found',
    `${modelId} has no version "${version}". Its versions are: ${versions.slice(0, 20).join(', ')}`,
  );
}
