import type { Db } from 'mongodb';
import { testBucketRecords } from '../../../shared/contract/plans.js';
import type { UsageBucket } from '../../../shared/redis/keys.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { createLoadOrganisation, unreachedLimit } from '../../load/load-organisation.js';

/** KEY_PEPPER of the gateways of a run. */
export const chaosPepper = 'pepper-of-the-chaos-run';

export interface ChaosOrganisation {
  readonly id: string;
  readonly modelId: string;
  readonly secrets: Readonly<Record<UsageBucket, string>>;
  readonly hardStops: Readonly<Record<UsageBucket, number>>;
  /** Relative share of the calls. */
  readonly weight: number;
}

/**
 * Creates three organisations, each with a live key, a test key and the demo's model. The quota of two is never
 * reached.
 * @param database empty
 * @param nearStop hard stop of the third, in records, which a run reaches
 */
export async function createOrganisations(database: Db, nearStop: number): Promise<ChaosOrganisation[]> {
  await prepareDatabase(database);
  const limits = [
    { limit: unreachedLimit, weight: 3 },
    { limit: unreachedLimit, weight: 2 },
    { limit: Math.ceil(nearStop / 2), weight: 2 },
  ];
  return await Promise.all(limits.map((one) => createOrganisation(database, one)));
}

async function createOrganisation(
  database: Db,
  { limit, weight }: { readonly limit: number; readonly weight: number },
): Promise<ChaosOrganisation> {
  const options = { name: 'Chaos', limit, keys: ['live', 'test'], pepper: chaosPepper } as const;
  const { id, modelIds, secrets } = await createLoadOrganisation(database, options);
  const [modelId = ''] = modelIds;
  const [live = '', test = ''] = secrets;
  const hardStops = { live: 2 * limit, test: testBucketRecords };
  return { id, modelId, secrets: { live, test }, hardStops, weight };
}
