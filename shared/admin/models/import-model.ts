import type { CheckedBundle } from '../../bundle/check-bundle.js';
import { newId } from '../../contract/identifiers.js';
import type { ShapeOf } from '../../contract/schema.js';
import type { MeanContribution } from '../../messages/bundle-check-job.js';
import type { ExplainMethod } from '../../messages/score-job.js';
import { OrganisationStore } from '../../store/accounts/organisations.js';
import type { Db } from '../../store/connection/connect.js';
import { versionsByModel, versionsWith } from '../../store/models/model-versions.js';
import { type Model, ModelStore } from '../../store/models/models.js';
import { newModel, storeVersion, VersionTaken } from '../../store/models/store-version.js';
import { defineAction, difference } from '../action.js';
import { AdminError, invalid } from '../admin-error.js';
import { requireOrganisation } from '../organisations/organisation-document.js';
import { importModelInput, importModelOutput } from '../schemas/models.js';
import { candidateOf, requireNoOther } from './candidates/candidates.js';
import { newOverride } from './change-models.js';
import { requireModel, settingsOf } from './read-models.js';
import { blockedState, endedBy, previousAfter, requireServable } from './serve-version.js';

/** Models of an organisation that are not deleted: gateways keep them in memory. */
const maxModels = 1_000;
/** Versions of a model. The grader checks all of them every night. */
const maxVersions = 1_000;

/** A bundle whose golden records came out as expected. */
interface PassedBundle {
  readonly bundle: CheckedBundle;
  readonly explainMethod: ExplainMethod;
  readonly contributions: readonly MeanContribution[];
}

/** Stores a bundle as a new model, or as a version of an existing one, which serves or is its candidate. */
export const importModel = defineAction({
  name: 'model.import',
  description: 'Store a checked bundle as a new model, or as a version that serves or is a candidate.',
  role: 'admin',
  effect: 'change',
  input: importModelInput,
  output: importModelOutput,
  async prepare(context, input, { bundle, ...explained }: PassedBundle) {
    const { database, clock } = context;
    const { org_id: organisationId, model_id: knownId, new: isWanted = false } = input;
    checkUse(input);
    await requireOrganisation(new OrganisationStore(database), organisationId);
    const known =
      knownId === undefined
        ? undefined
        : await requireModel({ database }, { org_id: organisationId, model_id: knownId });
    checkFamily(bundle, known);
    const { version } = bundle.manifest;
    if (known !== undefined && input.use === 'candidate') requireNoOther(known, version);
    if (known !== undefined && input.use === 'serve' && input.override === undefined && version !== known.version)
      await requireServable(context, { ...known, version });
    if (known === undefined && !isWanted) await requireUnknownBundle(database, organisationId, bundle);
    await requireRoom(database, { organisationId, known, version });
    const modelId = known?._id ?? newId('mdl');
    const now = new Date(clock.now());
    // Before the transaction, so that an existing model always has its version. A later import removes one without a
    // model.
    const { stored } = await storeVersion({ database, organisationId, modelId, bundle, ...explained, now }).catch(
      (error: unknown) => {
        throw error instanceof VersionTaken ? new AdminError('version_taken', error.message) : error;
      },
    );
    return { modelId, isNew: known === undefined, isNewVersion: stored, bundle, now };
  },
  async run(context, input, { modelId, isNew, isNewVersion, bundle, now }) {
    const { database, session, record, announce } = context;
    const { org_id: organisationId, live_api: liveApi, use, override } = input;
    const { name: manifestName, version } = bundle.manifest;
    const name = input.name?.trim() ?? manifestName;
    const given = override && { override: newOverride(context, version, override.reason) };
    const models = new ModelStore(database, session);
    const before = isNew ? undefined : await requireModel(context, { org_id: organisationId, model_id: modelId });
    if (before === undefined) {
      const model = newModel({ organisationId, modelId, bundle, now, ...(liveApi === undefined ? {} : { liveApi }) });
      await models.create({ ...model, name, ...given });
    } else {
      if (use === 'candidate') requireNoOther(before, version);
      const changes = use === 'candidate' ? { candidate: candidateOf(context, version) } : { name, version, ...given };
      const live = liveApi === undefined ? {} : { live_api: liveApi };
      const removed = endedBy(before, changes);
      await models.update(modelId, { ...changes, ...previousAfter(before, changes, removed), ...live }, removed);
    }
    const model = await requireModel(context, { model_id: modelId });
    const document = settingsOf(model);
    await record({
      organisationId,
      target: modelId,
      ...difference(before === undefined ? {} : settingsOf(before), { ...document, digest: bundle.digest }),
    });
    announce({ kind: 'model', id: modelId });
    const blocked = isNew ? await blockedState(context, model) : undefined;
    return { ...document, is_new_version: isNewVersion, ...(blocked !== undefined && { blocked }) };
  },
});

/** Refuses members that exclude or lack each other. A version that serves at once may take a passed model offline. */
function checkUse({ model_id: modelId, use, override, name, new: isNew }: ShapeOf<typeof importModelInput>): void {
  if (modelId === undefined) {
    if (use === 'candidate') throw invalid('use', 'must be absent or serve for a new model, which serves at once.');
    return;
  }
  if (isNew === true) throw invalid('new', 'makes a new model, so model_id must be absent.');
  if (use === undefined)
    throw invalid(
      'use',
      'is missing: candidate stores the version for a comparison, serve lets it score calls at once.',
    );
  if (use === 'candidate' && name !== undefined)
    throw invalid('name', 'is that of the model, which a candidate does not change.');
  if (use === 'candidate' && override !== undefined)
    throw invalid('override', 'lets a version score, and a candidate scores no calls.');
}

/** Refuses a bundle that a model of the organisation has: a second import is more often a slip than a wish. */
async function requireUnknownBundle(database: Db, organisationId: string, { digest }: CheckedBundle): Promise<void> {
  const found = await versionsWith(database, { organisationId, digest });
  if (found.length === 0) return;
  const models = await new ModelStore(database).list(organisationId);
  for (const stored of found) {
    const model = models.find(({ _id }) => _id === stored.model_id);
    if (model === undefined) continue; // deleted
    throw new AdminError(
      'bundle_stored',
      `${organisationId} has this bundle already: version "${stored.version}" of the model ${model._id} (${model.name}). Import it as a version of that model, or as a new model on purpose`,
      { stored },
    );
  }
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
    throw new AdminError(
      'too_many_models',
      `${organisationId} has ${models.length} models, and an organisation may have ${maxModels}. Delete one`,
    );
  }
  const versions = (await versionsByModel(database, known._id)).get(known._id) ?? [];
  if (versions.length < maxVersions || versions.includes(version)) return;
  throw new AdminError(
    'too_many_versions',
    `${known._id} has ${versions.length} versions, and a model may have ${maxVersions}. Import the bundle as a new model`,
  );
}

function checkFamily({ manifest }: CheckedBundle, known: Model | undefined): void {
  if (known === undefined || known.family === manifest.family) return;
  throw new AdminError(
    'bad_bundle',
    `The bundle's family is ${manifest.family}, but ${known._id} is a ${known.family} model. Import the bundle as a new model`,
  );
}
