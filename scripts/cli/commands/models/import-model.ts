import { basename, resolve } from 'node:path';
import { importModel as importModelAction } from '../../../../shared/admin/models/import-model.js';
import { readBundle } from '../../../../shared/bundle/archive/read-bundle.js';
import { type CheckedBundle, checkBundle } from '../../../../shared/bundle/check-bundle.js';
import type { CheckedModel } from '../../../../shared/messages/bundle-check-job.js';
import type { ExplainMethod } from '../../../../shared/messages/score-job.js';
import { runCheck } from '../../../../worker/bundle-checks/run-check.js';
import type { CliContext, CommandResult } from '../../context/cli-context.js';
import { CliError, usageError } from '../../context/cli-error.js';
import { perform } from '../../context/perform.js';
import { renderFields } from '../../output/table.js';
import { overrideText } from './show-model.js';

/** Parsed options of `model import`. */
export interface ImportOptions {
  readonly org: string;
  readonly model?: string;
  readonly new?: boolean;
  readonly liveApi?: boolean;
  readonly json?: boolean;
}

/**
 * Checks a bundle, runs it once and stores it as a new model or as the active version of an existing one. Stores
 * nothing when a check fails.
 */
export async function importModel(context: CliContext, path: string, options: ImportOptions): Promise<CommandResult> {
  if (options.new === true && options.model !== undefined) throw usageError('--model and --new exclude each other');
  const files = await readBundle(path);
  const bundle = checkBundle(files);
  const { golden, fallbackReason, explainMethod, contributions, notes } = await requirePassed(bundle, {
    path,
    nowMs: context.clock.now(),
  });
  const input = {
    org_id: options.org,
    ...(options.model === undefined ? {} : { model_id: options.model }),
    ...(options.new === undefined ? {} : { new: options.new }),
    ...(options.liveApi === undefined ? {} : { live_api: options.liveApi }),
  };
  const model = await perform(context, importModelAction, input, { bundle, explainMethod, contributions });
  const unknown = bundle.unknownKeys.map(
    (key) => `Note: the manifest key "${key}" is unknown to this version of Leadscore and was ignored.`,
  );
  const text = renderFields([
    ['Model', model.model_id],
    ['Name', model.name],
    ['Version', `${model.version}${model.is_new_version ? '' : ' (already stored)'}`],
    ['Family', model.family],
    ['Live API', model.live_api ? 'on' : 'off'],
    ['Override', overrideText(model)],
    ['Drivers', driversText(explainMethod, fallbackReason)],
    ['Golden', golden === undefined ? 'no golden records' : `${golden.records} records, all results as expected`],
    ['Ignored files', files.ignored.length === 0 ? undefined : files.ignored.slice(0, 10).join(', ')],
  ]);
  const { model_id, version, org_id, name, family, live_api } = model;
  const drivers = {
    explain_method: explainMethod,
    ...(fallbackReason === undefined ? {} : { occlusion_reason: fallbackReason }),
    ...(notes.length === 0 ? {} : { notes }),
  };
  return {
    document: { model_id, version, org_id, name, family, live_api, ...drivers },
    text: [text, ...notes.map((note) => `Note: ${note}`), ...unknown].join('\n'),
  };
}

const driversText = (method: ExplainMethod, reason: string | undefined): string =>
  reason === undefined ? method : `${method}, because ${reason}`;

/** Runs the bundle in a process of its own. Throws a CliError when it fails, or differs from its golden records. */
async function requirePassed(
  bundle: CheckedBundle,
  { path, nowMs }: { readonly path: string; readonly nowMs: number },
): Promise<CheckedModel> {
  const { read, result } = await runCheck({ path, nowMs });
  if ('problem' in result) {
    const { problem, isRefusal, member } = result;
    const details = member === undefined ? {} : { member };
    throw new CliError(problem, { code: isRefusal ? 'bad_bundle' : 'failed', details });
  }
  if (read?.digest !== bundle.digest)
    throw new CliError(`${basename(resolve(path))} changed while it was read. Try again`, { code: 'bad_bundle' });
  if (result.golden?.passed === false)
    throw new CliError(
      `${basename(resolve(path))} was not imported, because its results differ from its golden records: ${result.golden.differences[0] ?? ''}. See: npx leadscore model check ${path}`,
      { code: 'bad_bundle' },
    );
  return result;
}
