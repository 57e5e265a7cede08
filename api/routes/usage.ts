import type { Middleware } from 'koa';
import { daysOf, monthUsage } from '../../shared/admin/usage/show-usage.js';
import { monthEndMs, monthOf, monthStartMs } from '../../shared/contract/dates.js';
import { ApiError } from '../../shared/contract/errors.js';
import type { Redis } from '../../shared/redis/connect.js';
import type { Db } from '../../shared/store/connection/connect.js';
import { CallDayStore } from '../../shared/store/console/call-days.js';
import type { Metering } from '../admission/metering.js';
import { monthSchema } from '../schemas/usage.js';
import { queryParameter, type ReadingDeps, readingRoute } from './reading.js';

/** `GET /v1/usage`: the month-to-date usage of the key's bucket, and when it resets. */
export function usageRoute(deps: ReadingDeps, metering: Metering): Middleware {
  return readingRoute(deps, async (_context, { organisation, apiKey }) => {
    const usage = await metering.usage(organisation, apiKey.kind);
    // The next month may have begun since the count.
    return { ...usage, resets_at: new Date(monthEndMs(monthStartMs(usage.month))).toISOString() };
  });
}

const monthForm = new RegExp(monthSchema.pattern);

/** `GET /v1/usage/daily`: the records of the key's bucket in a month, by day. The current month by default. */
export function dailyUsageRoute(
  deps: ReadingDeps,
  { database, redis }: { readonly database: Db; readonly redis: Redis },
): Middleware {
  return readingRoute(deps, async (context, { organisation, apiKey }) => {
    const month = queryParameter(context, 'month') ?? monthOf(deps.clock.now());
    if (!monthForm.test(month)) throw new ApiError('unreadableRequest', 'month must be a month such as 2026-11.');
    const calls = new CallDayStore(database).byDay(daysOf(organisation._id, month));
    const [{ days }] = await Promise.all([
      monthUsage(
        { database, clock: deps.clock, redis: async () => redis },
        { organisation, bucket: apiKey.kind, month, calls },
      ),
      calls,
    ]);
    return {
      month,
      records: days.reduce((sum, { records }) => sum + records, 0),
      days: days.map(({ day, records, is_open }) => ({ day, records, is_open })),
    };
  });
}
