import Router from '@koa/router';
import Koa from 'koa';
import { AdminError } from '../../shared/admin/admin-error.js';
import type { Logger } from '../../shared/process/logger.js';
import { checkRequestHead } from '../http/middleware/request-head.js';
import { boundUnreadBody, boundUnreadReply } from '../http/middleware/slow-clients.js';
import type { UnusedBytes } from '../http/unused-bytes.js';
import { sameOriginOnly, securityHeaders } from './http/browser-guards.js';
import { errorReply } from './http/error-reply.js';
import { compressedReplies } from './http/json.js';
import type { Sessions } from './http/sessions.js';
import { staticFiles } from './http/static-files.js';
import type { ConsoleJobs } from './jobs/console-jobs.js';
import { addJobStreams } from './jobs/job-streams.js';
import { consoleDocument } from './openapi.js';
import { type ActionRoutesDeps, addActionRoutes } from './routes/action-routes.js';
import { addAuditCsv } from './routes/audit-csv.js';
import { addOidcRoutes, type OidcRoutesDeps } from './routes/oidc-routes.js';
import { addOutcomeRoutes, type OutcomeRoutesDeps } from './routes/outcome-routes.js';
import { addSessionRoutes, type SessionRoutesDeps } from './routes/session-routes.js';
import { addUploadRoute } from './routes/upload-routes.js';
import { addUsageCsv } from './routes/usage-csv.js';

export interface ConsoleAppOptions extends ActionRoutesDeps, SessionRoutesDeps, OidcRoutesDeps, OutcomeRoutesDeps {
  readonly sessions: Sessions;
  readonly jobs: ConsoleJobs;
  /** Where people open the console, without a trailing slash. */
  readonly consoleUrl: string;
  readonly isHttps: boolean;
  /** The folder with the application for browsers. */
  readonly appFolder: string;
  readonly logger: Logger;
  /** How long a client may go on sending after its answer. */
  readonly bodyTimeoutMs: number;
  readonly unused: UnusedBytes;
  /** Gives the reason why the console cannot work, or undefined. */
  readonly readiness: () => Promise<string | undefined>;
}

const replyTimeoutMs = 30_000;

/** The console over HTTP: its API below `/admin/v1`, and the application for browsers at every other address. */
export function createConsoleApp(options: ConsoleAppOptions): Koa {
  const { routes, consoleUrl, isHttps, logger, readiness } = options;
  const app = new Koa();
  const router = new Router();
  router.get('/healthz', (context) => {
    context.body = 'ok\n';
  });
  router.get('/readyz', async (context) => {
    const reason = await readiness();
    context.status = reason === undefined ? 200 : 503;
    context.body = `${reason ?? 'ready'}\n`;
  });
  router.get('/admin/v1/openapi.json', (context) => {
    context.body = consoleDocument(routes, consoleUrl);
  });
  addSessionRoutes(router, options);
  addOidcRoutes(router, options);
  addUsageCsv(router, options);
  addAuditCsv(router, options);
  addUploadRoute(router, options);
  addJobStreams(router, options);
  addOutcomeRoutes(router, options);
  addActionRoutes(router, options);

  app.use(boundUnreadReply(replyTimeoutMs));
  app.use(boundUnreadBody(options.bodyTimeoutMs, options.unused));
  app.use(securityHeaders({ isHttps }));
  app.use(compressedReplies());
  app.use(errorReply(logger));
  app.use(checkRequestHead());
  app.use(sameOriginOnly(new URL(consoleUrl).origin));
  app.use(router.routes());
  app.use(staticFiles(options.appFolder));
  app.use(refuseUnknown(router));
  app.on('error', (error: Error) => logger.debug({ error: error.message }, 'could not send reply'));
  return app;
}

/** Refuses a path with 405 if it exists with another method, else with 404. */
function refuseUnknown(router: Router): Koa.Middleware {
  return (context) => {
    const methods = router.match(context.path, context.method).path.flatMap((layer) => layer.methods);
    if (methods.length === 0) throw new AdminError('not_found', 'There is nothing at this address.');
    const allow = [...new Set(methods)].join(', ');
    context.set('Allow', allow);
    throw new AdminError('method_not_allowed', `This address takes ${allow}, not ${context.method}.`);
  };
}
