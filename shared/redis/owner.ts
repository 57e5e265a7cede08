import { UnusableServer } from '../process/retry-at-start.js';
import type { Redis } from './connect.js';
import { installationKey } from './keys.js';

/** This Redis holds the usage counters of another database. */
export class OtherInstallation extends UnusableServer {
  override name = 'OtherInstallation';

  constructor() {
    super(
      'REDIS_URL names a Redis that counts usage for another MongoDB than MONGODB_URL: correct the wrong address. If this ' +
        'database has replaced the other one for good, empty that Redis (FLUSHDB) first.',
    );
  }
}

/**
 * Claims this Redis for this database, unless it is claimed already.
 * @param id of the database; see store/installation-id.ts
 * @throws OtherInstallation when another database has claimed it; the error of Redis or of the connection
 */
export async function claimRedis(redis: Redis, id: string): Promise<void> {
  const known = await redis.get(installationKey);
  if (known === id) return;
  if (known === null && (await redis.set(installationKey, id, 'NX')) === 'OK') return;
  if ((await redis.get(installationKey)) !== id) throw new OtherInstallation();
}
