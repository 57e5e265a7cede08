import type { Db } from 'mongodb';
import { checkBundle } from '../../shared/bundle/check-bundle.js';
import { readBundle } from '../../shared/bundle/read-bundle.js';
import { testBucketRecords } from '../../shared/plans.js';
import { projectFile } from '../../shared/project-root.js';
import type { UsageBucket } from '../../shared/redis-keys.js';
import { ApiKeyStore } from '../../shared/store/api-keys.js';
import { createModel } from '../../shared/store/create-model.js';
import { OrganisationStore } from '../../shared/store/organisations.js';
import { prepareDatabase } from '../../shared/store/prepare.js';

/** What the gateways of a run hash keys with. */
export const chaosPepper = 'pepper-of-the-chaos-run';

/** One organisation that makes calls. */
export interface ChaosOrganisation {
  readonly id: string;
  readonly modelId: string;
  readonly secrets: Readonly<Record<UsageBucket, string>>;
  readonly hardStops: Readonly<Record<UsageBucket, number>>;
  /** Its share of the calls. */
  readonly weight: number;
}

const plentiful = 100_000_000;
const callsPerSecond = 1_000_000;
const brand = 'leadscore';

/**
 * Creates the organisations of a run, each with a live key, a test key and the demo's model: two with as much quota as
 * they like, and one that reaches its hard stop on the way.
 * @param database empty
 * @param nearStop the hard stop of the third, in records
 */
export async function createOrganisations(database: Db, nearStop: number): Promise<ChaosOrganisation[]> {
  await prepareDatabase(database);
  const limits = [
    { limit: plentiful, weight: 3 },
    { limit: plentiful, weight: 2 },
    { limit: Math.ceil(nearStop / 2), weight: 2 },
  ];
  return await Promise.all(limits.map((one) => createOrganisation(database, one)));
}

async function createOrganisation(
  database: Db,
  { limit, weight }: { readonly limit: number; readonly weight: number },
): Promise<ChaosOrganisation> {
  const now = new Date();
  const bundle = checkBundle(await readBundle(projectFile('scripts/demo/bundle')));
  const organisation = await new OrganisationStore(database).create(
    { name: 'An organisation in chaos', plan: 'enterprise', policy: 'warn', limit },
    now,
  );
  const model = await createModel(database, { organisationId: organisation._id, bundle, now });
  const keys = new ApiKeyStore(database);
  const create = async (kind: UsageBucket) => {
    const options = { kind, ratePerSecond: callsPerSecond, brand, pepper: chaosPepper, now };
    return (await keys.create({ organisationId: organisation._id, name: `a ${kind} key`, ...options }))
      .secret;
  };
  const [live, test] = await Promise.all([create('live'), create('test')]);
  return {
    id: organisation._id,
    modelId: model._id,
    secrets: { live, test },
    hardStops: { live: 2 * limit, test: testBucketRecords },
    weight,
  };
}
