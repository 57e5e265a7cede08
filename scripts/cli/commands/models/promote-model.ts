import { showComparison } from '../../../../shared/admin/models/candidates/compare-candidate.js';
import { promoteCandidate, rollBackModel } from '../../../../shared/admin/models/candidates/promotion.js';
import { showModel } from '../../../../shared/admin/models/read-models.js';
import type { CliContext, CommandResult } from '../../context/cli-context.js';
import { CliError, declined, usageError } from '../../context/cli-error.js';
import { perform } from '../../context/perform.js';
import { describeModel } from './show-model.js';

/** Parsed options of `model rollback`. */
export interface RollbackOptions {
  readonly current?: string;
  readonly previous?: string;
  readonly override?: boolean;
  readonly reason?: string;
  /** Skips the confirmation. */
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** Parsed options of `model promote`. */
export interface PromoteOptions extends Omit<RollbackOptions, 'previous'> {
  readonly candidate?: string;
  readonly force?: boolean;
}

/** Lets the candidate of a model score calls, after confirmation. */
export async function promoteModel(
  context: CliContext,
  modelId: string,
  options: PromoteOptions,
): Promise<CommandResult> {
  const { force = false, override = false, reason, yes = false } = options;
  if ((force || override) && reason === undefined)
    throw usageError('--force and --override need --reason, which is stored with your user name');
  if (reason !== undefined && !force && !override) throw usageError('--reason needs --force or --override');
  const { base, candidate: known, summary } = await perform(context, showComparison, { model_id: modelId });
  const { current = base, candidate = known } = options;
  const question = `${summary} Let version ${candidate} of ${modelId} score calls instead of ${current}?`;
  if (!yes && !(await context.confirm(question))) throw declined(`${modelId} was not changed.`);
  const document = await perform(context, promoteCandidate, {
    ...{ model_id: modelId, current, candidate },
    ...(force && reason !== undefined && { force: { reason } }),
    ...(override && reason !== undefined && { override: { reason } }),
  });
  return { document, text: describeModel(document) };
}

/** Lets the version before score calls again, after confirmation. */
export async function rollBack(context: CliContext, modelId: string, options: RollbackOptions): Promise<CommandResult> {
  const { override = false, reason, yes = false } = options;
  if (override !== (reason !== undefined)) throw usageError('--override and --reason need each other');
  const { version, previous: known } = await perform(context, showModel, { model_id: modelId });
  const { current = version, previous = known?.version } = options;
  if (previous === undefined)
    throw new CliError(
      `${modelId} has no previous version: no other one scored calls before ${version}, or a rollback has restored it. Choose one: npx leadscore model set ${modelId} --version VERSION`,
      { code: 'not_found' },
    );
  const question = `Let version ${previous} of ${modelId} score calls again instead of ${current}?`;
  if (!yes && !(await context.confirm(question))) throw declined(`${modelId} was not changed.`);
  const document = await perform(context, rollBackModel, {
    ...{ model_id: modelId, current, previous },
    ...(reason !== undefined && { override: { reason } }),
  });
  return { document, text: describeModel(document) };
}
