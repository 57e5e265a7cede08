import type Router from '@koa/router';
import { runAction } from '../../../shared/admin/run-action.js';
import { showUsage } from '../../../shared/admin/usage/show-usage.js';
import { usageCsv } from '../../../shared/admin/usage/usage-days.js';
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
    context.body = usageCsv(usage);
  });
}
