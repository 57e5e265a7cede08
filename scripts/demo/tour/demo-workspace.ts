import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { readBundle } from '../../../shared/bundle/read-bundle.js';
import type { Config } from '../../../shared/config.js';
import { allowanceOf } from '../../../shared/plans.js';
import { projectFile } from '../../../shared/project-root.js';
import { ApiKeyStore, defaultRatePerSecond } from '../../../shared/store/api-keys.js';
import { connectMongo, type Db } from '../../../shared/store/connect.js';
import { createModel } from '../../../shared/store/create-model.js';
import type { Model } from '../../../shared/store/models.js';
import { type Organisation, OrganisationStore } from '../../../shared/store/organisations.js';

/** What a caller needs before the first call. */
export interface Workspace {
  readonly organisation: Organisation;
  /** Included records a month. */
  readonly limit: number;
  readonly model: Model;
  /** CRM fields that the model reads. */
  readonly fieldCount: number;
  readonly apiKey: string;
}

export interface WorkspaceOptions {
  readonly mongoUrl: string;
  readonly config: Pick<Config, 'keyBrand' | 'keyPepper'>;
  /** Records that will be scored: the plan includes at least as many. */
  readonly records: number;
  readonly now: Date;
}

/**
 * Creates an organisation on plan pro, imports the demo's model, and creates a live key, as an operator would with
 * `npx leadscore org create`, `model import` and `key create`. The gateway has prepared the database before.
 */
export async function createWorkspace(options: WorkspaceOptions): Promise<Workspace> {
  const { mongoUrl, config, now } = options;
  const { client, database } = await connectMongo(mongoUrl, { name: 'leadscore-demo', maxPoolSize: 4 });
  try {
    const organisation = await createOrganisation(database, options);
    const { limit } = allowanceOf(organisation, 'live');
    const { model, fieldCount } = await importModel(database, { organisationId: organisation._id, now });
    const { secret } = await new ApiKeyStore(database).create({
      organisationId: organisation._id,
      kind: 'live',
      name: 'demo',
      ratePerSecond: defaultRatePerSecond,
      brand: config.keyBrand,
      pepper: config.keyPepper,
      now,
    });
    return { organisation, limit, model, fieldCount, apiKey: secret };
  } finally {
    await client.close();
  }
}

/** The plan's own limit where it is enough: only a long demo is given a higher one. */
async function createOrganisation(
  database: Db,
  { records, now }: Pick<WorkspaceOptions, 'records' | 'now'>,
): Promise<Organisation> {
  const store = new OrganisationStore(database);
  const created = await store.create({ name: 'Demo Company', plan: 'pro', policy: 'warn' }, now);
  if (allowanceOf(created, 'live').limit >= records) return created;
  return (await store.update(created._id, { limit: Math.ceil(records / 10_000) * 10_000 })) ?? created;
}

async function importModel(
  database: Db,
  of: { readonly organisationId: string; readonly now: Date },
): Promise<{ model: Model; fieldCount: number }> {
  const bundle = checkBundle(await readBundle(projectFile('scripts/demo/bundle')));
  const model = await createModel(database, { ...of, bundle });
  return { model, fieldCount: new Set(bundle.manifest.features.map(({ field }) => field)).size };
}
