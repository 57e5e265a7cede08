import type { UsageBucket } from '../../shared/redis-keys.js';
import type { SeededRandom } from '../demo/seeded-random.js';
import type { ChaosOrganisation } from './chaos-organisations.js';
import type { CallEvent } from './history.js';

/** A lead as a CRM sends it, with its crm_id among the fields. */
export type Lead = Readonly<Record<string, unknown>>;

/** What one caller is going to do. */
export interface PlannedCall {
  readonly organisation: ChaosOrganisation;
  readonly bucket: UsageBucket;
  readonly route: CallEvent['route'];
  readonly leads: readonly Lead[];
  readonly isIdempotent: boolean;
  /** The caller closes the connection after so many ms; undefined for one who waits. */
  readonly hangUpAfterMs: number | undefined;
  /** The same call is made twice at once. */
  readonly hasTwin: boolean;
  /** The call is made again although it was answered. */
  readonly isRepeated: boolean;
  /** Waits before the call is made again, while it has not been answered for good. */
  readonly retryAfterMs: readonly number[];
}

const routes = [
  { route: 'batch', weight: 60 },
  { route: 'webhook', weight: 32 },
  { route: 'usage', weight: 8 },
] as const;
const sizes = [
  { from: 1, to: 5, weight: 75 },
  { from: 6, to: 50, weight: 20 },
  { from: 51, to: 400, weight: 5 },
] as const;

/** Records that a call has scored on average, over all routes; what a hard stop is chosen by. */
export const meanRecords = 13;

/** Draws what the next caller does. Only calls under an Idempotency-Key are made again. */
export function planCall(
  random: SeededRandom,
  { organisations, leads }: { organisations: readonly ChaosOrganisation[]; leads: readonly Lead[] },
): PlannedCall {
  const { route } = random.weighted(routes);
  const isIdempotent = route !== 'usage' && random.chance(0.35);
  return {
    organisation: random.weighted(organisations),
    bucket: random.chance(0.1) ? 'test' : 'live',
    route,
    leads: Array.from({ length: recordsOf(random, route) }, () => random.pick(leads)),
    isIdempotent,
    hangUpAfterMs: random.chance(0.03) ? random.integer(0, 60) : undefined,
    hasTwin: isIdempotent && random.chance(0.2),
    isRepeated: isIdempotent && random.chance(0.3),
    retryAfterMs: isIdempotent ? Array.from({ length: 3 }, () => random.integer(100, 2_000)) : [],
  };
}

function recordsOf(random: SeededRandom, route: CallEvent['route']): number {
  if (route === 'usage') return 0;
  if (route === 'webhook') return 1;
  const { from, to } = random.weighted(sizes);
  return random.integer(from, to);
}
