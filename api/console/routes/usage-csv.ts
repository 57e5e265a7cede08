import type Router from '@koa/router';
import { runAction } from '../../../shared/admin/run-action.js';
import type { usageOutput } from '../../../shared/admin/schemas/usage.js';
import { showUsage } from '../../../shared/admin/usage/show-usage.js';
import type { ShapeOf } from '../../../shared/contract/schema.js';
import { type ActionRoutesDeps, queryOf, requestContext } from './action-routes.js';

/** Adds `GET /orgs/{org_id}/usage?format=csv`. Without the parameter the next route answers. */
export function addUsageCsv(router: Router, deps: Omit<ActionRoutesDeps, 'routes'>): void {
  router.get('/admin/v1/orgs/:org_id/usage', deps.sessions.required(), async (context, next) => {
    const { format, ...query } = queryOf(context, showUsage.input);
    if (format !== 'csv') return await next();
    const input = { ...query, ...context.params };
    const usage = await runAction(showUsage, input, await requestContext(context, deps, context.params.org_id));
    context.type = 'text/csv; charset=utf-8';
    context.attachment(`usage-${usage.month}.csv`);
    context.body = csvOf(usage);
  });
}

/** One line a day and bucket. All cells are numbers, dates and names of buckets, so none needs quotes. */
function csvOf({ buckets }: ShapeOf<typeof usageOutput>): string {
  const rows = buckets.flatMap(({ bucket, days }) =>
    days.map(({ day, records, calls }) => [day, bucket, records, calls ?? ''].join(',')),
  );
  return `${['day,keys,records,calls', ...rows].join('\r\n')}\r\n`;
}
