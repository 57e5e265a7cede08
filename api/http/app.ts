import Router from '@koa/router';
import Koa from 'koa';
import { ApiError } from '../../shared/contract/errors.js';
import type { ErasureStores } from '../../shared/latest-scores/erase-everywhere.js';
import { exceptOf, type Readiness } from '../../shared/process/admin-server.js';
import type { Logger } from '../../shared/process/logger.js';
import type { Redis } from '../../shared/redis/connect.js';
import type { PredictionStore } from '../../shared/store/calls/predictions.js';
import type { Db } from '../../shared/store/connection/connect.js';
import type { FieldDayStore } from '../../shared/store/models/field-days.js';
import type { ModelVerdicts } from '../../shared/store/validation/model-verdicts.js';
import type { OutcomeStore } from '../../shared/store/validation/outcomes.js';
import type { Metering } from '../admission/metering.js';
import { coverageRoute } from '../routes/coverage.js';
import { addDocumentation, type DocumentationOptions } from '../routes/docs.js';
import type { CreateJobDeps } from '../routes/jobs/create-job.js';
import { addJobs } from '../routes/jobs/job-routes.js';
import { modelRoute, modelsRoute } from '../routes/models.js';
import type { GradeRequests } from '../routes/outcomes/grade-requests.js';
import type { OutcomeLimit } from '../routes/outcomes/outcome-limit.js';
import { outcomesRoute } from '../routes/outcomes/outcomes.js';
import { webhookOutcomeRoute } from '../routes/outcomes/webhook-outcome.js';
import type { ReadingDeps } from '../routes/reading.js';
import { eraseScoresRoute, scoreHistoryRoute } from '../routes/scores.js';
import { type ScoringRouteDeps, scoreRoute, webhookScoreRoute } from '../routes/scoring-routes.js';
import { dailyUsageRoute, usageRoute } from '../routes/usage.js';
import type { CallDays } from './call-days.js';
import { deprecatedAlias, isAlias, markDeprecated } from './middleware/deprecated-alias.js';
import { errorReply } from './middleware/error-reply.js';
import { checkRequestHead } from './middleware/request-head.js';
import { boundUnreadBody, boundUnreadReply } from './middleware/slow-clients.js';
import type { RefusedCalls } from './refused-calls.js';
import type { UnusedBytes } from './unused-bytes.js';

export interface AppOptions extends DocumentationOptions {
  readonly score: ScoringRouteDeps;
  readonly reading: ReadingDeps;
  readonly verdicts: ModelVerdicts;
  readonly fieldDayStore: FieldDayStore;
  readonly metering: Metering;
  readonly predictions: PredictionStore;
  readonly outcomes: OutcomeStore;
  readonly outcomeLimit: OutcomeLimit;
  readonly gradeRequests: GradeRequests;
  readonly usageDays: { readonly database: Db; readonly redis: Redis };
  readonly erasing: ErasureStores;
  readonly jobs: CreateJobDeps;
  readonly unused: UnusedBytes;
  readonly legacyAliases: 'serve' | 'gone';
  readonly logger: Logger;
  readonly countCalls: Koa.Middleware;
  readonly callDays: CallDays;
  readonly refusedCalls: RefusedCalls;
  readonly readiness: Readiness;
  /** Whether the gateway is stopping. Replies then end their connections. */
  readonly isDraining: () => boolean;
}

/** The HTTP application: all routes, then the middleware in the order in which a call passes it. */
export function createApp(options: AppOptions): Koa {
  const app = new Koa();
  const router = new Router();

  const { score, reading } = options;
  router.post('/v1/score', scoreRoute(score, '/v1/score'));
  router.post('/v1/webhooks/score', webhookScoreRoute(score, '/v1/webhooks/score'));
  router.post('/score', deprecatedAlias('/score', options.legacyAliases), scoreRoute(score, '/score'));
  router.post(
    '/webhooks/score',
    deprecatedAlias('/webhooks/score', options.legacyAliases),
    webhookScoreRoute(score, '/webhooks/score'),
  );

  router.get('/v1/usage', usageRoute(reading, options.metering));
  router.get('/v1/usage/daily', dailyUsageRoute(reading, options.usageDays));
  router.get('/v1/models', modelsRoute(reading, options.verdicts));
  router.get('/v1/models/:model_id', modelRoute(reading, options.verdicts));
  router.get('/v1/models/:model_id/coverage', coverageRoute(reading, options.fieldDayStore));
  router.get('/v1/scores/:crm_id', scoreHistoryRoute(reading, options.predictions));
  router.delete('/v1/scores/:crm_id', eraseScoresRoute(reading, options.erasing));
  const outcomes = {
    store: options.outcomes,
    limit: options.outcomeLimit,
    grades: options.gradeRequests,
    predictions: options.predictions,
    largeBodies: score.largeBodies,
    ...score.receiving,
  };
  const ofWebhooks = { ...reading, keys: score.keys, timeoutMs: score.webhookTimeoutMs };
  router.post('/v1/outcomes', outcomesRoute(reading, outcomes));
  router.post('/v1/webhooks/outcome', webhookOutcomeRoute(ofWebhooks, outcomes));

  addJobs(router, options.jobs);
  addDocumentation(router, options);

  router.get('/healthz', (context) => {
    context.body = 'ok\n';
  });
  router.get('/readyz', async (context) => {
    const reason = options.isDraining() ? 'stopping' : await options.readiness(exceptOf(context.url));
    context.status = reason === undefined ? 200 : 503;
    context.body = `${reason ?? 'ready'}\n`;
  });

  app.use(options.countCalls);
  app.use(options.callDays.middleware());
  app.use(async (context, next) => {
    await next();
    if (options.isDraining()) context.set('Connection', 'close');
  });
  // Clients get as long to read a reply as they get to send a body.
  app.use(boundUnreadReply(options.score.receiving.limits.bodyTimeoutMs));
  app.use(boundUnreadBody(options.score.receiving.limits.bodyTimeoutMs, options.unused));
  app.use(errorReply(options));
  app.use(checkRequestHead());
  app.use(router.routes());
  app.use(refuseUnknown(router, options.legacyAliases));
  app.on('error', (error: Error) => options.logger.debug({ error: error.message }, 'could not send reply'));
  return app;
}

/**
 * Refuses a path with 405 if it exists with another method, else with 404. An alias is marked as deprecated here too.
 */
function refuseUnknown(router: Router, aliases: 'serve' | 'gone'): Koa.Middleware {
  return (context) => {
    const layers = router.match(context.path, context.method).path;
    const alias = layers.map(({ path }) => path).find(isAlias);
    if (alias !== undefined) markDeprecated(context, alias, aliases);
    const methods = layers.flatMap((layer) => layer.methods);
    if (methods.length === 0) throw new ApiError('notFound', `There is nothing at ${context.path.slice(0, 200)}.`);
    const allow = [...new Set(methods)].join(', ');
    throw new ApiError('methodNotAllowed', `${context.path} takes ${allow}, not ${context.method}.`, {
      headers: { Allow: allow },
    });
  };
}
