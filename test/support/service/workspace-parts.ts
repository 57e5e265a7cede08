import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { newId } from '../../../shared/contract/identifiers.js';
import type { ExplainMethod } from '../../../shared/messages/score-job.js';
import type { ApiKey, NewApiKey } from '../../../shared/store/accounts/api-keys.js';
import type { Model } from '../../../shared/store/models/models.js';
import { createModel as storeModel } from '../../../shared/store/models/store-version.js';
import type { StoredVerdict } from '../../../shared/store/validation/model-validation.js';
import { sampleBundle } from '../models/sample-bundle.js';
import type { RunningService } from './service.js';

/** A verdict to store for a model; graded now by default. */
export type GivenVerdict = Pick<StoredVerdict, 'state' | 'failing_gate' | 'summary'> &
  Partial<Pick<StoredVerdict, 'graded_at'>>;

export interface ModelOptions {
  /** The files of its bundle; `sampleBundle()` by default. */
  readonly bundle?: ReadonlyMap<string, Buffer>;
  readonly liveApi?: boolean;
  /** As `model import` found out; by default it is not stored, and the manifest's promise counts. */
  readonly explainMethod?: ExplainMethod;
  readonly verdict?: GivenVerdict;
}

/** A key with its secret. */
export interface UsableKey {
  readonly key: ApiKey;
  readonly secret: string;
}

/** Creates a key of an organisation. */
export async function createKey(
  { stores, clock, keyPepper }: RunningService,
  organisationId: string,
  { kind, rate, scopes }: Pick<NewApiKey, 'kind' | 'scopes'> & { readonly rate: number },
): Promise<UsableKey> {
  return await stores.keys.create({
    organisationId,
    kind,
    name: `the ${kind} key of a test`,
    ratePerSecond: rate,
    scopes,
    brand: 'leadscore',
    pepper: keyPepper,
    now: new Date(clock.now()),
  });
}

/** Stores a bundle as a model of an organisation, with its verdict if given. */
export async function createModel(
  service: RunningService,
  organisationId: string,
  { bundle: files = sampleBundle(), liveApi = true, verdict, explainMethod }: ModelOptions,
): Promise<Model> {
  const { stores, clock } = service;
  const bundle = checkBundle(files);
  const modelId = newId('mdl');
  const { version } = bundle.manifest;
  // Stored before the model, so that no call finds the model without its verdict.
  if (verdict !== undefined)
    await storeVerdict(service, { _id: modelId, organisation_id: organisationId, version }, verdict);
  const now = new Date(clock.now());
  const explained = explainMethod === undefined ? {} : { explainMethod };
  return await storeModel(stores.database, { organisationId, bundle, now, modelId, liveApi, ...explained });
}

/** Stores a verdict on a model's current version. */
export async function storeVerdict(
  { stores, clock }: RunningService,
  model: Pick<Model, '_id' | 'organisation_id' | 'version'>,
  verdict: GivenVerdict,
): Promise<void> {
  await stores.validation.replace({
    _id: `${model._id}:${model.version}`,
    organisation_id: model.organisation_id,
    graded_at: new Date(clock.now()),
    ...verdict,
  });
}
