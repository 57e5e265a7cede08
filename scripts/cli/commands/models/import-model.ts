import { basename, resolve } from 'node:path';
import { readBundle } from '../../../../shared/bundle/archive/read-bundle.js';
import { type CheckedBundle, checkBundle } from '../../../../shared/bundle/check-bundle.js';
import type { ExplainMethod } from '../../../../shared/messages/score-job.js';
import { OrganisationStore } from '../../../../shared/store/accounts/organisations.js';
import type { Db } from '../../../../shared/store/connection/connect.js';
import { versionsByModel } from '../../../../shared/store/models/model-versions.js';
import { type Model, ModelStore } from '../../../../shared/store/models/models.js';
import { createModel, storeVersion, VersionTaken } from '../../../../shared/store/models/store-version.js';
import type { CliContext, CommandResult } from '../../context/cli-context.js';
import { CliError, notFound } from '../../context/cli-error.js';
import { announceChange } from '../../context/connections.js';
import { renderFields } from '../../output/table.js';
import { requireOrganisation } from '../organisations.js';
import { type BundleRun, runBundle } from './golden-check.js';
import { overrideText } from './show-model.js';

/** Models of an organisation that are not deleted: gateways keep them in memory. */
const maxModels = 1_000;
/** Versions of a model. The grader looks at all of them every night. */
const maxVersions = 1_000;

/** Parsed options of `model import`. */
export interface ImportOptions {
  readonly org: string;
  readonly model?: string;
  readonly liveApi?: boolean;
  readonly json?: boolean;
}

/**
 * Checks a bundle, runs it once and stores it as a new model or as the active version of an existing one. Stores
 * nothing when a check fails.
 */
export async function importModel(context: CliContext, path: string, options: ImportOptions): Promise<CommandResult> {
  const database = await context.connections.preparedDatabase();
  const organisation = await requireOrganisation(new OrganisationStore(database), options.org);
  const known =
    options.model === undefined ? undefined : await requireModelOf(database, options.model, organisation._id);

  const files = await readBundle(path);
  const bundle = checkBundle(files);
  checkFamily(bundle, known);
  await requireRoom(database, { organisationId: organisation._id, known, version: bundle.manifest.version });
  const { golden, explainMethod } = await requireGoldenResults(bundle, { path, nowMs: context.clock.now() });

  const stored =
    known === undefined
      ? await storeNew(context, { database, bundle, explainMethod, options })
      : await storeVersionOf(context, { database, bundle, explainMethod, options, known });
  const { model } = stored;
  const notes = bundle.unknownKeys.map(
    (key) => `Note: the manifest key "${key}" is unknown to this version of Leadscore and was ignored.`,
  );
  const text = renderFields([
    ['Model', model._id],
    ['Name', model.name],
    ['Version', `${model.version}${stored.isNew ? '' : ' (already stored)'}`],
    ['Family', model.family],
    ['Live API', model.live_api ? 'on' : 'off'],
    ['Override', overrideText(model)],
    ['Golden', golden === undefined ? 'no golden records' : `${golden.records} records, all results as expected`],
    ['Ignored files', files.ignored.length === 0 ? undefined : files.ignored.slice(0, 10).join(', ')],
  ]);
  return {
    document: {
      model_id: model._id,
      version: model.version,
      org_id: model.organisation_id,
      name: model.name,
      family: model.family,
      live_api: model.live_api,
    },
    text: [text, ...notes].join('\n'),
  };
}

interface Import {
  readonly database: Db;
  readonly bundle: CheckedBundle;
  readonly explainMethod: ExplainMethod;
  readonly options: ImportOptions;
}

async function storeNew(context: CliContext, { database, bundle, explainMethod, options }: Import) {
  const { org: organisationId, liveApi = true } = options;
  const now = new Date(context.clock.now());
  const model = await createModel(database, { organisationId, bundle, explainMethod, now, liveApi });
  await announceChange(context, { kind: 'model', id: model._id });
  return { model, isNew: true };
}

async function storeVersionOf(
  context: CliContext,
  { database, bundle, explainMethod, options, known }: Import & { readonly known: Model },
) {
  const { name, version } = bundle.manifest;
  const now = new Date(context.clock.now());
  const ids = { organisationId: options.org, modelId: known._id };
  const { stored } = await storeVersion({ database, ...ids, bundle, explainMethod, now }).catch((error: unknown) => {
    throw error instanceof VersionTaken ? new CliError(error.message, { code: 'version_taken' }) : error;
  });
  const liveApi = options.liveApi === undefined ? {} : { live_api: options.liveApi };
  const model = await new ModelStore(database).update(known._id, { name, version, ...liveApi });
  if (model === undefined) throw notFound(`model ${known._id} anymore`, `model list ${options.org}`);
  await announceChange(context, { kind: 'model', id: model._id });
  return { model, isNew: stored };
}

async function requireModelOf(database: Db, modelId: string, organisationId: string): Promise<Model> {
  const model = await new ModelStore(database).find(modelId);
  if (model === undefined || model.organisation_id !== organisationId)
    throw notFound(`model ${modelId} in ${organisationId}`, `model list ${organisationId}`);
  return model;
}

/** Refuses a model or a version above the limit. A version that is stored already takes no room. */
async function requireRoom(
  database: Db,
  of: { readonly organisationId: string; readonly known: Model | undefined; readonly version: string },
): Promise<void> {
  const { organisationId, known, version } = of;
  if (known === undefined) {
    const models = await new ModelStore(database).list(organisationId);
    if (models.length < maxModels) return;
    throw new CliError(
      `${organisationId} has ${models.length} models, and an organisation may have ${maxModels}. Delete one: npx leadscore model delete MODEL`,
      { code: 'too_many_models' },
    );
  }
  const versions = (await versionsByModel(database, known._id)).get(known._id) ?? [];
  if (versions.length < maxVersions || versions.includes(version)) return;
  throw new CliError(
    `${known._id} has ${versions.length} versions, and a model may have ${maxVersions}. Import the bundle as a new model, without --model`,
    { code: 'too_many_versions' },
  );
}

function checkFamily({ manifest }: CheckedBundle, known: Model | undefined): void {
  if (known === undefined || known.family === manifest.family) return;
  throw new CliError(
    `The bundle's family is ${manifest.family}, but ${known._id} is a ${known.family} model. Import the bundle as a new model, without --model`,
    { code: 'bad_bundle' },
  );
}

/** Runs the bundle. Throws a CliError when its results differ from its golden records. */
async function requireGoldenResults(
  bundle: CheckedBundle,
  { path, nowMs }: { readonly path: string; readonly nowMs: number },
): Promise<BundleRun> {
  const run = await runBundle(bundle, { nowMs });
  if (run.golden?.passed === false)
    throw new CliError(
      `${basename(resolve(path))} was not imported, because its results differ from its golden records: ${run.golden.differences[0] ?? ''}. See: npx leadscore model check ${path}`,
      { code: 'bad_bundle' },
    );
  return run;
}
