import type { Db } from 'mongodb';
import { readBundle } from '../../shared/bundle/archive/read-bundle.js';
import { checkBundle } from '../../shared/bundle/check-bundle.js';
import { defaultKeyBrand } from '../../shared/config/config.js';
import type { PlanName } from '../../shared/contract/plans.js';
import { projectFile } from '../../shared/process/project-root.js';
import type { UsageBucket } from '../../shared/redis/keys.js';
import { ApiKeyStore } from '../../shared/store/accounts/api-keys.js';
import { OrganisationStore } from '../../shared/store/accounts/organisations.js';
import { createModel } from '../../shared/store/models/store-version.js';

export interface LoadOrganisation {
  readonly id: string;
  readonly modelIds: readonly string[];
  /** API keys in the order of `keys`. */
  readonly secrets: readonly string[];
}

/** Records per month that no load reaches. */
export const unreachedLimit = 1_000_000_000;
const unreachedRatePerSecond = 1_000_000;

/**
 * Creates an organisation with models and API keys for a load.
 * @param options.limit records per month; the hard stop is twice that
 * @param options.models copies of the bundle's model (1)
 * @param options.plan `enterprise` by default
 * @param options.ratePerSecond of each key; by default a rate that no load reaches
 */
export async function createLoadOrganisation(
  database: Db,
  options: {
    readonly name: string;
    readonly limit: number;
    readonly keys: readonly UsageBucket[];
    readonly pepper: string;
    readonly bundlePath?: string;
    readonly models?: number;
    readonly plan?: PlanName;
    readonly ratePerSecond?: number;
  },
): Promise<LoadOrganisation> {
  const {
    name,
    limit,
    keys,
    pepper,
    models = 1,
    plan = 'enterprise',
    ratePerSecond = unreachedRatePerSecond,
  } = options;
  const bundle = checkBundle(await readBundle(options.bundlePath ?? projectFile('scripts/demo/bundle')));
  const now = new Date();
  const fields = { name, plan, policy: 'warn', limit } as const;
  const { _id: organisationId } = await new OrganisationStore(database).create(fields, now);
  const modelIds: string[] = [];
  for (let index = 0; index < models; index += 1)
    modelIds.push((await createModel(database, { organisationId, bundle, now }))._id);
  const store = new ApiKeyStore(database);
  const key = { organisationId, ratePerSecond, brand: defaultKeyBrand, pepper, now };
  const created = keys.map((kind, index) => store.create({ ...key, kind, name: `${kind} key ${index + 1}` }));
  return { id: organisationId, modelIds, secrets: (await Promise.all(created)).map(({ secret }) => secret) };
}
