import { dayMs } from '../contract/dates.js';
import type { Redis } from '../redis/connect.js';
import { refusedCallsKey } from '../redis/keys.js';

/**
 * A call of a known key that was refused or that failed. Nothing is stored of its body, of its path, which may name a
 * lead, and of the text of the error.
 */
export interface RefusedCall {
  readonly atMs: number;
  readonly keyId: string;
  /** The code and the status of the error. */
  readonly code: string;
  readonly status: number;
  /** The method and the route, such as `GET /v1/scores/:crm_id`. */
  readonly route: string;
  readonly requestId: string;
}

/** The refused calls that Redis keeps of one organisation. */
export const mostRefusedCalls = 200;
const keptMs = 7 * dayMs;

/**
 * Adds refused calls of an organisation to its list, which stays bounded.
 * @param calls oldest first, at least one
 * @throws the error of Redis
 */
export async function addRefusedCalls(
  redis: Redis,
  organisationId: string,
  calls: readonly RefusedCall[],
): Promise<void> {
  const key = refusedCallsKey(organisationId);
  await redis
    .multi()
    .lpush(key, ...calls.map((call) => JSON.stringify(call)))
    .ltrim(key, 0, mostRefusedCalls - 1)
    .pexpire(key, keptMs)
    .exec();
}

/**
 * The last refused calls of an organisation, of seven days, latest first. Calls of the last second may be missing.
 * @throws the error of Redis
 */
export async function readRefusedCalls(redis: Redis, organisationId: string, nowMs: number): Promise<RefusedCall[]> {
  const texts = await redis.lrange(refusedCallsKey(organisationId), 0, mostRefusedCalls - 1);
  const calls: RefusedCall[] = texts.map((text) => JSON.parse(text));
  // The list goes seven days after its last call, and a call may be older. Gateways add theirs in turn.
  return calls.filter(({ atMs }) => atMs > nowMs - keptMs).sort((one, other) => other.atMs - one.atMs);
}
