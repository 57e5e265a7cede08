import { dropCandidate, setCandidate } from '../../../../shared/admin/models/candidates/candidates.js';
import {
  deleteModel as deleteModelAction,
  setModel as setModelAction,
} from '../../../../shared/admin/models/change-models.js';
import { ModelStore } from '../../../../shared/store/models/models.js';
import type { CliContext, CommandResult } from '../../context/cli-context.js';
import { declined, usageError } from '../../context/cli-error.js';
import { perform } from '../../context/perform.js';
import { describeModel, requireModel } from './show-model.js';

/** Parsed options of `model set`. */
export interface SetModelOptions {
  readonly liveApi?: boolean;
  readonly version?: string;
  readonly name?: string;
  readonly override?: boolean;
  readonly reason?: string;
  readonly rescore?: 'promotion' | 'nightly' | 'off';
  /** Id of the key of these jobs. */
  readonly key?: string;
  readonly atMost?: number;
  readonly json?: boolean;
}

/** Parsed options of `model candidate`. */
export interface CandidateOptions {
  readonly drop?: boolean;
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
  const { liveApi, version, name, override, reason, rescore } = options;
  if ([liveApi, version, name, override, rescore].every((option) => option === undefined))
    throw usageError('Nothing to set. Give --live-api, --version, --name, --override or --rescore');
  if (override === true && reason === undefined)
    throw usageError('--override on needs --reason, which is stored and shown with the verdict');
  if (reason !== undefined && override !== true) throw usageError('--reason needs --override on');
  const document = await perform(context, setModelAction, {
    model_id: modelId,
    ...(liveApi === undefined ? {} : { live_api: liveApi }),
    ...(version === undefined ? {} : { version }),
    ...(name === undefined ? {} : { name }),
    ...(override === undefined ? {} : { override: reason === undefined ? null : { reason } }),
    ...rescoringOf(options),
  });
  return { document, text: describeModel(document) };
}

/** @throws CliError for options of `--rescore` that do not belong together */
function rescoringOf({ rescore: when, key, atMost }: SetModelOptions) {
  const hasMore = key !== undefined || atMost !== undefined;
  if (when === undefined || when === 'off') {
    if (hasMore) throw usageError('--key and --at-most need --rescore promotion or --rescore nightly');
    return when === undefined ? {} : { rescore: null };
  }
  if (key === undefined || atMost === undefined)
    throw usageError(
      `--rescore ${when} needs --key, the id of the key under which the leads count, and --at-most, the leads of one job`,
    );
  return { rescore: { when, key_id: key, at_most: atMost } };
}

/** Makes a stored version the candidate of a model, or ends its candidacy. */
export async function changeCandidate(
  context: CliContext,
  modelId: string,
  version: string | undefined,
  { drop = false }: CandidateOptions,
): Promise<CommandResult> {
  if (drop === (version !== undefined)) throw usageError('Give either a version or --drop');
  const document =
    version === undefined
      ? await perform(context, dropCandidate, { model_id: modelId })
      : await perform(context, setCandidate, { model_id: modelId, version });
  return { document, text: describeModel(document) };
}

/** Deletes a model after confirmation. Its versions stay, because their past scores fill in fields of known records. */
export async function deleteModel(
  context: CliContext,
  modelId: string,
  { yes = false }: DeleteModelOptions,
): Promise<CommandResult> {
  const model = await requireModel(new ModelStore(await context.connections.database()), modelId);
  const question = `Delete ${modelId} (${model.name}) permanently? Calls to it will get 404.`;
  if (!yes && !(await context.confirm(question))) throw declined(`${modelId} (${model.name}) was not deleted.`);
  const document = await perform(context, deleteModelAction, { model_id: modelId });
  return { document, text: `${modelId} (${model.name}) was deleted. Calls to it get 404.` };
}
