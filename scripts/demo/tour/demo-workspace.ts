import { readBundle } from '../../../shared/bundle/archive/read-bundle.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { allowanceOf } from '../../../shared/contract/plans.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { ApiKeyStore, defaultRatePerSecond } from '../../../shared/store/accounts/api-keys.js';
import { OrganisationStore } from '../../../shared/store/accounts/organisations.js';
import { connectMongo } from '../../../shared/store/connection/connect.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { runBundle } from '../../../worker/bundle-checks/golden-check.js';
import type { ServersWithPepper } from '../../servers/private-servers.js';

export type Workspace = Awaited<ReturnType<typeof createWorkspace>>;

export interface WorkspaceOptions {
  readonly servers: ServersWithPepper;
  readonly keyBrand: string;
  /** Records that will be scored: the limit is raised when plan pro includes fewer. */
  readonly records: number;
  readonly now: Date;
}

/**
 * Creates an organisation on plan pro with the demo's model and a live key, as `npx leadscore org create`, `model
 * import` and `key create` do. The gateway must have prepared the database.
 */
export async function createWorkspace(options: WorkspaceOptions) {
  const { servers, keyBrand, records, now } = options;
  const { client, database } = await connectMongo(servers.mongoUrl, { name: 'leadscore-demo', maxPoolSize: 4 });
  try {
    const store = new OrganisationStore(database);
    const created = await store.create({ name: 'Demo Company', plan: 'pro', policy: 'warn' }, now);
    const isEnough = allowanceOf(created, 'live').limit >= records;
    const limitChange = { limit: Math.ceil(records / 10_000) * 10_000 };
    const organisation = (isEnough ? undefined : await store.update(created._id, limitChange)) ?? created;
    const organisationId = organisation._id;
    const bundle = checkBundle(await readBundle(projectFile('scripts/demo/bundle')));
    const { explainMethod, contributions } = await runBundle(bundle, { nowMs: now.getTime() });
    const model = await createModel(database, { organisationId, now, bundle, explainMethod, contributions });
    const { secret, key } = await new ApiKeyStore(database).create({
      ...{ organisationId, kind: 'live', name: 'HubSpot', ratePerSecond: defaultRatePerSecond, now },
      ...{ brand: keyBrand, pepper: servers.keyPepper },
    });
    const { features } = bundle.manifest;
    const fieldCount = new Set(features.map(({ field }) => field)).size;
    const { limit } = allowanceOf(organisation, 'live'); // included records a month
    return { organisation, limit, model, features, fieldCount, keyId: key._id, apiKey: secret };
  } finally {
    await client.close();
  }
}
