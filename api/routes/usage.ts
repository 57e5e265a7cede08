import type { Middleware } from 'koa';
import { monthEndMs, monthStartMs } from '../../shared/contract/dates.js';
import type { Metering } from '../admission/metering.js';
import { type ReadingDeps, readingRoute } from './reading.js';

/** `GET /v1/usage`: the month-to-date usage of the key's bucket, and when it resets. */
export function usageRoute(deps: ReadingDeps, metering: Metering): Middleware {
  return readingRoute(deps, async (_context, { organisation, apiKey }) => {
    const usage = await metering.usage(organisation, apiKey.kind);
    // The next month may have begun since the count.
    return { ...usage, resets_at: new Date(monthEndMs(monthStartMs(usage.month))).toISOString() };
  });
}
