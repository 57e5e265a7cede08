import { UnusableServer } from '../async/retry.js';
import type { Redis } from './connect.js';
import { installationKey, leaseLengthKey } from './keys.js';

/**
 * Claims this Redis for this database, unless it is claimed already.
 * @param id of the database; see store/installation-id.ts
 * @throws UnusableServer when another database has claimed it; the error of Redis or of the connection
 */
export async function claimRedis(redis: Redis, id: string): Promise<void> {
  const known = await redis.get(installationKey);
  if (known === id) return;
  if (known === null && (await redis.set(installationKey, id, 'NX')) === 'OK') return;
  if ((await redis.get(installationKey)) === id) return;
  throw new UnusableServer(
    'REDIS_URL names a Redis that counts usage for another MongoDB than MONGODB_URL: correct the wrong address. If this ' +
      'database has replaced the other one for good, empty that Redis (FLUSHDB) first.',
  );
}

/** Leases after which a claim of their length lapses that no sweep renews: no call under such a lease is left. */
const leaseClaims = 2;

/**
 * Claims the length of leases, or renews the claim. Processes with leases of different lengths would count calls twice:
 * each takes other calls for recent.
 * @throws as `requireLease`
 */
export async function claimLease(redis: Redis, leaseMs: number): Promise<void> {
  await requireLease(redis, leaseMs);
  // A full Redis accepts PEXPIRE, but no SET.
  if ((await redis.pexpire(leaseLengthKey, leaseClaims * leaseMs)) === 0)
    await redis.set(leaseLengthKey, leaseMs, 'PX', leaseClaims * leaseMs, 'NX');
  // Another length may have been claimed since the first check.
  await requireLease(redis, leaseMs);
}

/**
 * Checks that leases of this process last as long as those of the running processes.
 * @throws UnusableServer when they do not; the error of Redis or of the connection
 */
export async function requireLease(redis: Redis, leaseMs: number): Promise<void> {
  const known = await redis.get(leaseLengthKey);
  if (known === null || known === String(leaseMs)) return;
  throw new UnusableServer(
    `REQUEST_TIMEOUT_MS and WEBHOOK_TIMEOUT_MS give leases of ${leaseMs} ms, and those of the running processes ` +
      `${known} ms: set the same values for all gateways, pools and commands. To change them for all, stop all ` +
      `gateways and pools for ${Math.ceil((leaseClaims * Number(known)) / 1000)} s first.`,
  );
}
