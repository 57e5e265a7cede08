import type { Feature } from '../../bundle/manifest/manifest.js';
import type { ShapeOf } from '../../contract/schema.js';
import type { Verdict } from '../../contract/verdict.js';
import { createLogger } from '../../process/logger.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import { listVersions, loadManifest, versionsByModel } from '../../store/models/model-versions.js';
import { type Model, ModelStore, type Override, overrideOf, type PreviousVersion } from '../../store/models/models.js';
import { ValidationStore } from '../../store/validation/model-validation.js';
import { ModelVerdicts } from '../../store/validation/model-verdicts.js';
import { type ActionContext, type AdminContext, defineAction } from '../action.js';
import { AdminError, notFound } from '../admin-error.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { listModelsInput, listModelsOutput, modelInput, modelSchema } from '../schemas/models.js';
import { candidateRunOf } from './candidates/candidate-run.js';
import { rescoringDocument, rescoringOf } from './rescoring.js';

export const listModels = defineAction({
  name: 'model.list',
  description: "List an organisation's models, oldest first.",
  role: 'viewer',
  effect: 'read',
  input: listModelsInput,
  output: listModelsOutput,
  async run(context, { org_id: organisationId }) {
    await requireOrganisation(new OrganisationStore(context.database), organisationId);
    const models = await new ModelStore(context.database).list(organisationId);
    const verdicts = verdictsOf(context);
    return {
      models: await Promise.all(models.map(async (model) => summaryOf(model, await verdicts.of(model)))),
    };
  },
});

export const showModel = defineAction({
  name: 'model.show',
  description: 'Read a model: its verdict, versions and fields.',
  role: 'viewer',
  effect: 'read',
  input: modelInput,
  output: modelSchema,
  run: async (context, input) => modelDocument(context, await requireModel(context, input)),
});

/**
 * The model with an id.
 * @param of.org_id if given, a model of another organisation is as unknown as one that does not exist
 * @throws AdminError not_found, also for a deleted model
 */
export async function requireModel(
  { database, session }: Pick<AdminContext, 'database'> & Partial<Pick<ActionContext, 'session'>>,
  of: { readonly org_id?: string; readonly model_id: string },
): Promise<Model> {
  const model = await new ModelStore(database, session).find(of.model_id);
  if (model !== undefined && (of.org_id === undefined || of.org_id === model.organisation_id)) return model;
  throw notFound('model', of.model_id);
}

/**
 * Requires a stored version of a model.
 * @throws AdminError not_found, which lists the versions that exist
 */
export async function requireVersion(
  { database }: Pick<AdminContext, 'database'>,
  modelId: string,
  version: string,
): Promise<void> {
  const versions = (await versionsByModel(database, modelId)).get(modelId) ?? [];
  if (versions.includes(version)) return;
  throw new AdminError(
    'not_found',
    `${modelId} has no version "${version}". Its versions are: ${versions.slice(0, 20).join(', ')}`,
  );
}

export const unknownVersion = (modelId: string, version: string): AdminError =>
  new AdminError('not_found', `${modelId} has no version "${version}".`);

/** A model as every action on one model shows it. */
export async function modelDocument(context: ActionContext, model: Model): Promise<ShapeOf<typeof modelSchema>> {
  const { database } = context;
  const [versions, manifest, verdict, run, rescore] = await Promise.all([
    listVersions(database, model._id),
    loadManifest(database, model._id, model.version),
    verdictsOf(context).of(model),
    candidateRunOf(database, model),
    rescoringOf(context, model),
  ]);
  return {
    ...summaryOf(model, verdict),
    ...rescore,
    ...(run === undefined ? {} : { candidate_run: run }),
    versions: versions.map(({ version, digest, imported_at }) => ({
      ...{ version, digest },
      imported_at: imported_at.toISOString(),
    })),
    ...(manifest === undefined ? {} : { fields: manifest.features.map(fieldOf) }),
  };
}

/** Reads verdicts without the cache of a gateway. */
export const verdictsOf = ({ clock, database }: Pick<ActionContext, 'clock' | 'database'>): ModelVerdicts =>
  new ModelVerdicts({ validation: new ValidationStore(database), clock, logger: createLogger('silent', 'admin') });

/** The members of a model that do not depend on other collections. */
export function settingsOf(model: Model) {
  const { candidate, previous, rescore } = model;
  const applies = overrideOf(model) !== undefined;
  const override = model.override && { [applies ? 'override' : 'other_override']: overrideDocument(model.override) };
  return {
    model_id: model._id,
    org_id: model.organisation_id,
    name: model.name,
    family: model.family,
    version: model.version,
    live_api: model.live_api,
    ...override,
    ...(candidate && { candidate: { ...candidate, since: candidate.since.toISOString() } }),
    ...(previous && { previous: previousDocument(previous) }),
    ...(rescore && { rescore: rescoringDocument(rescore) }),
    created_at: model.created_at.toISOString(),
  };
}

const summaryOf = (model: Model, { state, failing_gate, summary }: Verdict) => ({
  ...settingsOf(model),
  validation: { state, failing_gate, summary },
});

const previousDocument = ({ version, override }: PreviousVersion) => ({
  version,
  ...(override && { override: overrideDocument(override) }),
});

const overrideDocument = ({ version, by, at, reason }: Override) => ({ version, by, at: at.toISOString(), reason });

/** A field without its lists. */
export const fieldHeadOf = (feature: Feature) => ({
  field: feature.field,
  label: feature.label,
  type: feature.type,
  required: feature.required === true,
  ...(feature.type === 'date' && feature.date_order !== undefined ? { date_order: feature.date_order } : {}),
});

const fieldOf = (feature: Feature) => ({
  ...fieldHeadOf(feature),
  ...(feature.aliases === undefined ? {} : { aliases: feature.aliases }),
  ...('categories' in feature ? { categories: feature.categories } : {}),
});
