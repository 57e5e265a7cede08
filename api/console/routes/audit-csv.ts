import { Readable } from 'node:stream';
import type Router from '@koa/router';
import type { AdminContext } from '../../../shared/admin/action.js';
import { listAudit } from '../../../shared/admin/people/audit-actions.js';
import { auditCsvHead, auditCsvLines } from '../../../shared/admin/people/audit-csv.js';
import { runAction } from '../../../shared/admin/run-action.js';
import { mostAuditEntries } from '../../../shared/admin/schemas/people.js';
import { type ActionRoutesDeps, queryOf, requestContext } from './action-routes.js';

/** A file of years must not occupy the console for long. */
const mostEntriesInFile = 100_000;

/** Adds `GET /orgs/{org_id}/audit?format=csv`. Without the parameter the next route answers. */
export function addAuditCsv(router: Router, deps: Omit<ActionRoutesDeps, 'routes'>): void {
  router.get('/admin/v1/orgs/:org_id/audit', deps.sessions.required(), async (context, next) => {
    const { format, ...query } = queryOf(context, listAudit.input);
    if (format !== 'csv') return await next();
    const input = { ...query, ...context.params };
    const pages = pagesOf(input, await requestContext(context, deps, context.params.org_id));
    // Before the head of the reply, which cannot be taken back: a refusal needs its status.
    const first = await pages.next();
    context.type = 'text/csv; charset=utf-8';
    context.attachment(`audit-${String(context.params.org_id)}.csv`);
    context.body = Readable.from(textOf(first.value ?? '', pages));
  });
}

async function* textOf(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield auditCsvHead + first;
  yield* rest;
}

/** The entries as lines of a CSV, a page at a time, latest first. */
async function* pagesOf(input: Readonly<Record<string, unknown>>, context: AdminContext): AsyncGenerator<string> {
  let left = mostEntriesInFile;
  for (let before: object = {}; left > 0; ) {
    const page = { ...input, ...before, limit: Math.min(left, mostAuditEntries) };
    const { entries, next } = await runAction(listAudit, page, context);
    yield auditCsvLines(entries);
    if (next === undefined) return;
    left -= entries.length;
    before = { before: next };
  }
}
