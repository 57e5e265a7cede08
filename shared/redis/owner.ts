import { UnusableServer } from '../process/start-step.js';
import type { Redis } from './connect.js';
import { installationKey } from './keys.js';

/** A Redis that counts for another database: what this one says of usage would be taken for the truth there. */
export class OtherInstallation extends UnusableServer {
  override name = 'OtherInstallation';

  constructor() {
    super(
      'REDIS_URL names a Redis that counts usage for another MongoDB than MONGODB_URL: correct the one that is wrong. If ' +
        'this database has taken the place of the other one for good, empty that Redis (FLUSHDB) first.',
    );
  }
}

/**
 * Makes sure that a Redis counts for this database, and notes it where Redis does not know yet, or has been emptied.
 * @param id of the database; see store/installation-id.ts
 * @throws OtherInstallation; what Redis or the connection fails with
 */
export async function claimRedis(redis: Redis, id: string): Promise<void> {
  const known = await redis.get(installationKey);
  if (known === id) return;
  if (known === null && (await redis.set(installationKey, id, 'NX')) === 'OK') return;
  if ((await redis.get(installationKey)) !== id) throw new OtherInstallation();
}
