import type { Db } from '../../../../shared/store/connection/connect.js';
import { listVersions } from '../../../../shared/store/models/model-versions.js';
import { ModelStore, type Override } from '../../../../shared/store/models/models.js';
import type { CliContext, CommandResult } from '../../context/cli-context.js';
import { CliError, declined, usageError } from '../../context/cli-error.js';
import { announceChange } from '../../context/connections.js';
import { operatorName } from '../../context/operator.js';
import { requireModel, showModel } from './show-model.js';

/** Parsed options of `model set`. */
export interface SetModelOptions {
  readonly liveApi?: boolean;
  readonly version?: string;
  readonly override?: boolean;
  readonly reason?: string;
  readonly json?: boolean;
}

/** Parsed options of `model delete`. */
export interface DeleteModelOptions {
  /** Skips the confirmation. */
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** Changes the given settings of a model and keeps the others. */
export async function setModel(context: CliContext, modelId: string, options: SetModelOptions): Promise<CommandResult> {
  const { liveApi, version, override, reason } = options;
  if (liveApi === undefined && version === undefined && override === undefined)
    throw usageError('Nothing to set. Give --live-api, --version or --override');
  if (override === true && reason === undefined)
    throw usageError('--override on needs --reason, which is stored and shown with the verdict');
  if (reason !== undefined && override !== true) throw usageError('--reason needs --override on');

  const database = await context.connections.preparedDatabase();
  const models = new ModelStore(database);
  const model = await requireModel(models, modelId);
  if (version !== undefined) await requireVersion(database, modelId, version);
  const fields: Parameters<ModelStore['update']>[1] = {
    ...(liveApi === undefined ? {} : { live_api: liveApi }),
    ...(version === undefined ? {} : { version }),
    ...(reason === undefined ? {} : { override: newOverride(context, { version: version ?? model.version, reason }) }),
  };
  if (Object.keys(fields).length > 0) await models.update(modelId, fields);
  if (override === false) await models.removeOverride(modelId);
  await announceChange(context, { kind: 'model', id: modelId });
  return showModel(context, modelId, { withFieldTable: false });
}

/** Deletes a model after confirmation. Its versions stay, because their past scores fill in fields of known records. */
export async function deleteModel(
  context: CliContext,
  modelId: string,
  { yes = false }: DeleteModelOptions,
): Promise<CommandResult> {
  const models = new ModelStore(await context.connections.preparedDatabase());
  const model = await requireModel(models, modelId);
  const question = `Delete ${modelId} (${model.name}) permanently? Calls to it will get 404.`;
  if (!yes && !(await context.confirm(question))) throw declined(`${modelId} (${model.name}) was not deleted.`);
  const now = new Date(context.clock.now());
  await models.update(modelId, { deleted_at: now });
  await announceChange(context, { kind: 'model', id: modelId });
  return {
    document: { model_id: modelId, deleted_at: now },
    text: `${modelId} (${model.name}) was deleted. Calls to it get 404.`,
  };
}

function newOverride({ clock }: CliContext, given: Pick<Override, 'version' | 'reason'>): Override {
  return { by: operatorName(), at: new Date(clock.now()), ...given };
}

async function requireVersion(database: Db, modelId: string, version: string): Promise<void> {
  const versions = (await listVersions(database, modelId)).map((each) => each.version);
  if (versions.includes(version)) return;
  throw new CliError(`${modelId} has no version "${version}". Its versions are: ${versions.join(', ')}`, {
    code: 'not_found',
  });
}
