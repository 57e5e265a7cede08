import { basename, resolve } from 'node:path';
import { importModel as importModelAction } from '../../../../shared/admin/models/import-model.js';
import type { importModelOutput } from '../../../../shared/admin/schemas/models.js';
import { readBundle } from '../../../../shared/bundle/archive/read-bundle.js';
import { type CheckedBundle, checkBundle } from '../../../../shared/bundle/check-bundle.js';
import type { ShapeOf } from '../../../../shared/contract/schema.js';
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
  readonly candidate?: boolean;
  readonly serve?: boolean;
  readonly override?: boolean;
  readonly reason?: string;
  readonly new?: boolean;
  readonly liveApi?: boolean;
  readonly json?: boolean;
}

/**
 * Checks a bundle, runs it once and stores it as a new model, or as a version of an existing one. Stores nothing when
 * a check fails.
 */
export async function importModel(context: CliContext, path: string, options: ImportOptions): Promise<CommandResult> {
  if (options.new === true && options.model !== undefined) throw usageError('--model and --new exclude each other');
  checkUse(options);
  const use = await useOf(context, options);
  const files = await readBundle(path);
  const bundle = checkBundle(files);
  const { golden, fallbackReason, explainMethod, contributions, notes } = await requirePassed(bundle, {
    path,
    nowMs: context.clock.now(),
  });
  const input = {
    org_id: options.org,
    ...(options.model === undefined ? {} : { model_id: options.model, use }),
    ...(options.reason === undefined ? {} : { override: { reason: options.reason } }),
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
    ['Version', `${bundle.manifest.version}${model.is_new_version ? '' : ' (already stored)'}`],
    ['Family', model.family],
    ['Use', useText(model, use)],
    ['Live API', model.live_api ? 'on' : 'off'],
    ['Override', overrideText(model)],
    ['Drivers', driversText(explainMethod, fallbackReason)],
    ['Golden', golden === undefined ? 'no golden records' : `${golden.records} records, all results as expected`],
    ['Ignored files', files.ignored.length === 0 ? undefined : files.ignored.slice(0, 10).join(', ')],
  ]);
  const { model_id, org_id, name, family, live_api, candidate, blocked } = model;
  const { version } = bundle.manifest;
  const drivers = {
    explain_method: explainMethod,
    ...(fallbackReason === undefined ? {} : { occlusion_reason: fallbackReason }),
    ...(notes.length === 0 ? {} : { notes }),
  };
  return {
    document: {
      ...{ model_id, version, org_id, name, family, live_api },
      ...(candidate === undefined ? {} : { candidate }),
      ...(blocked === undefined ? {} : { blocked }),
      ...drivers,
    },
    text: [text, ...notes.map((note) => `Note: ${note}`), ...unknown].join('\n'),
  };
}

type Use = 'candidate' | 'serve';

function checkUse({ model, candidate, serve, override, reason }: ImportOptions): void {
  if (candidate === true && serve === true) throw usageError('--candidate and --serve exclude each other');
  if (candidate === true && model === undefined)
    throw usageError('--candidate needs --model: a new model serves at once');
  if (candidate === true && override === true)
    throw usageError('--override lets a version score, and a candidate scores no calls');
  if (override === true && reason === undefined)
    throw usageError('--override needs --reason, which is stored and shown with the verdict');
  if (reason !== undefined && override !== true) throw usageError('--reason needs --override');
}

/** Whether the version serves at once. Asks in a terminal: it may take a passed model offline. */
async function useOf(context: CliContext, { model, candidate, serve }: ImportOptions): Promise<Use> {
  if (serve === true || model === undefined) return 'serve';
  if (candidate === true) return 'candidate';
  if (!context.canAsk)
    throw new CliError(
      'Add --candidate, which stores the version without scoring calls, or --serve, which lets it score them at once',
      { code: 'invalid_request' },
    );
  const isWanted = await context.confirm(`Let this version of ${model} score calls at once? No makes it a candidate.`);
  return isWanted ? 'serve' : 'candidate';
}

/** The use of the version, for people. */
function useText({ version, model_id: id, blocked }: ShapeOf<typeof importModelOutput>, use: Use): string {
  if (use === 'candidate') return `candidate: version ${version} goes on scoring. See: npx leadscore model show ${id}`;
  if (blocked === undefined) return 'scores calls';
  return `its calls get 409: the deploy policy is block and its validation state is ${blocked}`;
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
