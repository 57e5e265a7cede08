import type { UsageBucket } from '../../../shared/redis/keys.js';
import type { SeededRandom } from '../../leads/seeded-random.js';
import type { CallEvent } from '../check/history.js';
import type { ChaosOrganisation } from './organisations.js';

/** A lead as a CRM sends it, with its crm_id. */
export type Lead = Readonly<Record<string, unknown>>;

/** Behaviour of one caller. */
export interface PlannedCall {
  readonly organisation: ChaosOrganisation;
  readonly bucket: UsageBucket;
  readonly route: CallEvent['route'];
  readonly leads: readonly Lead[];
  readonly isIdempotent: boolean;
  /** Delay until the caller closes the connection; undefined if it waits for the answer. */
  readonly hangUpAfterMs: number | undefined;
  /** The call is sent twice at once. */
  readonly hasTwin: boolean;
  /** The call is sent again after its answer. */
  readonly isRepeated: boolean;
  /** Delays of the retries until a final answer. */
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

/** Mean records per call over all routes. It determines the hard stop of an organisation. */
export const meanRecords = 13;

/** Draws the behaviour of the next caller. Only calls with an Idempotency-Key are sent more than once. */
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

/** Draws one of the calls for a hot model: a large batch, which is sent again until its final answer. */
export function planHotCall(
  random: SeededRandom,
  { organisation, leads }: { readonly organisation: ChaosOrganisation; readonly leads: readonly Lead[] },
): PlannedCall {
  return {
    organisation,
    bucket: 'live',
    route: 'batch',
    leads: Array.from({ length: random.integer(500, 1_000) }, () => random.pick(leads)),
    isIdempotent: true,
    hangUpAfterMs: undefined,
    hasTwin: false,
    isRepeated: false,
    retryAfterMs: Array.from({ length: 3 }, () => random.integer(100, 2_000)),
  };
}

function recordsOf(random: SeededRandom, route: CallEvent['route']): number {
  if (route === 'usage') return 0;
  if (route === 'webhook') return 1;
  const { from, to } = random.weighted(sizes);
  return random.integer(from, to);
}
