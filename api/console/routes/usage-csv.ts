import type Router from '@koa/router';
import { runAction } from '../../../shared/admin/run-action.js';
import { showUsage } from '../../../shared/admin/usage/show-usage.js';
import { usageCsv } from '../../../shared/admin/usage/usage-days.js';
import { showUsageDays } from '../../../shared/admin/usage/usage-of-days.js';
import { type ActionRoutesDeps, queryOf, requestContext } from './action-routes.js';

/**
 * Adds `GET /orgs/{org_id}/usage?format=csv`, of a month or with `from` and `to` of chosen days. Without the parameter
 * the next route answers.
 */
export function addUsageCsv(router: Router, deps: Omit<ActionRoutesDeps, 'routes'>): void {
  router.get('/admin/v1/orgs/:org_id/usage', deps.sessions.required(), async (context, next) => {
    const isOfDays = context.query.from !== undefined || context.query.to !== undefined;
    const { format, ...query } = queryOf(context, isOfDays ? showUsageDays.input : showUsage.input);
    if (format !== 'csv') return await next();
    const input = { ...query, ...context.params };
    const admin = await requestContext(context, deps, context.params.org_id);
    const usage = isOfDays ? await runAction(showUsageDays, input, admin) : await runAction(showUsage, input, admin);
    context.type = 'text/csv; charset=utf-8';
    context.attachment(`usage-${'month' in usage ? usage.month : `${usage.from}-${usage.to}`}.csv`);
    context.body = usageCsv(usage);
  });
}
