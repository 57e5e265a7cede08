import { ModelVerdicts } from '../../../../api/scoring/model-verdicts.js';
import type { Feature, Manifest } from '../../../../shared/bundle/manifest/manifest.js';
import type { Verdict } from '../../../../shared/contract/verdict.js';
import { createLogger } from '../../../../shared/process/logger.js';
import { OrganisationStore } from '../../../../shared/store/accounts/organisations.js';
import type { Db } from '../../../../shared/store/connection/connect.js';
import { listVersions, loadManifest } from '../../../../shared/store/models/model-versions.js';
import { type Model, ModelStore, overrideOf } from '../../../../shared/store/models/models.js';
import { ValidationStore } from '../../../../shared/store/validation/model-validation.js';
import { type CliContext, type CommandResult, lineWidth } from '../../context/cli-context.js';
import { notFound } from '../../context/cli-error.js';
import { readableDate } from '../../output/readable-numbers.js';
import { renderFields, renderTable } from '../../output/table.js';
import { requireOrganisation } from '../organisations.js';

type Versions = Awaited<ReturnType<typeof listVersions>>;

export async function listModels(context: CliContext, organisationId: string): Promise<CommandResult> {
  const database = await context.connections.database();
  await requireOrganisation(new OrganisationStore(database), organisationId);
  const models = await new ModelStore(database).list(organisationId);
  const verdicts = verdictsOf(context, database);
  const listed = await Promise.all(models.map(async (model) => ({ model, verdict: await verdicts.of(model) })));
  const columns = [
    { name: 'Model', whole: true },
    { name: 'Name' },
    { name: 'Version' },
    { name: 'Live' },
    { name: 'Validation' },
  ] as const;
  const rows = listed.map(({ model, verdict }) => [
    model._id,
    model.name,
    model.version,
    model.live_api ? 'on' : 'off',
    verdict.state + (overrideOf(model) === undefined ? '' : ', overridden'),
  ]);
  const none = `No models yet. Import one: npx leadscore model import BUNDLE --org ${organisationId}`;
  return {
    document: { models: listed.map(({ model, verdict }) => documentOf(model, verdict)) },
    text: rows.length === 0 ? none : renderTable(columns, rows, { width: lineWidth(context.stdout) }),
  };
}

/** Shows a model with its versions, verdict and fields. Without `withFieldTable` the text omits the fields. */
export async function showModel(
  context: CliContext,
  modelId: string,
  { withFieldTable = true }: { readonly withFieldTable?: boolean } = {},
): Promise<CommandResult> {
  const database = await context.connections.database();
  const model = await requireModel(new ModelStore(database), modelId);
  const [versions, manifest, verdict] = await Promise.all([
    listVersions(database, modelId),
    loadManifest(database, modelId, model.version),
    verdictsOf(context, database).of(model),
  ]);
  const width = lineWidth(context.stdout);
  const fields = manifest === undefined || !withFieldTable ? '' : `\n\n${fieldTable(manifest, width)}`;
  return {
    document: {
      ...documentOf(model, verdict),
      versions: versions.map(({ version, digest, imported_at }) => ({ version, digest, imported_at })),
      ...(manifest === undefined ? {} : { fields: manifest.features.map(fieldDocument) }),
    },
    text: describe(model, { verdict, versions }) + fields,
  };
}

/** @throws CliError when the model does not exist or was deleted */
export async function requireModel(models: ModelStore, modelId: string): Promise<Model> {
  const model = await models.find(modelId);
  if (model !== undefined) return model;
  throw notFound(`model ${modelId}`, 'model list ORG');
}

const verdictsOf = ({ clock }: CliContext, database: Db): ModelVerdicts =>
  new ModelVerdicts({
    validation: new ValidationStore(database),
    clock,
    logger: createLogger('silent', 'cli'),
  });

/** Describes the override of a model, also one that was given for another version; undefined without one. */
export function overrideText({ override, version }: Model): string | undefined {
  if (override === undefined) return undefined;
  const given = `by ${override.by}, ${readableDate(override.at)} UTC: ${override.reason}`;
  if (override.version === version) return given;
  return `none for ${version}. The one of version ${override.version} does not apply (${given})`;
}

function documentOf(model: Model, verdict: Verdict): Record<string, unknown> {
  const override = overrideOf(model);
  return {
    model_id: model._id,
    org_id: model.organisation_id,
    name: model.name,
    family: model.family,
    version: model.version,
    live_api: model.live_api,
    validation: verdict,
    ...(override === undefined ? {} : { override }),
    created_at: model.created_at,
  };
}

const fieldDocument = ({ field, label, type, required, aliases }: Feature): Record<string, unknown> => ({
  field,
  label,
  type,
  required: required === true,
  ...(aliases === undefined ? {} : { aliases }),
});

function describe(
  model: Model,
  { verdict, versions }: { readonly verdict: Verdict; readonly versions: Versions },
): string {
  const listed = versions.map(
    ({ version, imported_at }) =>
      `${version}${version === model.version ? ' (active)' : ''}, imported ${readableDate(imported_at)} UTC`,
  );
  return renderFields([
    ['Model', model._id],
    ['Name', model.name],
    ['Organisation', model.organisation_id],
    ['Family', model.family],
    ['Live API', model.live_api ? 'on' : 'off (calls get 403)'],
    ['Validation', verdict.state],
    ['', verdict.summary],
    ['Override', overrideText(model)],
    ['Versions', listed.join('\n')],
  ]);
}

function fieldTable({ features }: Manifest, width: number): string {
  const columns = [{ name: 'Field' }, { name: 'Label' }, { name: 'Type' }, { name: 'Required' }] as const;
  const rows = features.map(({ field, label, type, required }) => [field, label, type, required === true ? 'yes' : '']);
  return renderTable(columns, rows, { width });
}
