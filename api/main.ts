import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { type Config, readConfig } from '../shared/config/config.js';
import { readSettings } from '../shared/config/read-settings.js';
import { messageOf } from '../shared/contract/errors.js';
import { callIdGenerator } from '../shared/contract/identifiers.js';
import { LatestScores } from '../shared/latest-scores/latest-scores.js';
import { createMetrics, listen, startAdminServer } from '../shared/process/admin-server.js';
import { machineClock } from '../shared/process/clock.js';
import { ClockWatch, observeClock } from '../shared/process/clock-watch.js';
import { Lifecycle } from '../shared/process/lifecycle.js';
import { createLogger, type Logger } from '../shared/process/logger.js';
import { retryAtStart } from '../shared/process/start-step.js';
import { leaseMsOf } from '../shared/quota/leases.js';
import { Quota } from '../shared/quota/quota.js';
import { subscribeToChanges } from '../shared/redis/changes.js';
import { connectionReady, connectRedis } from '../shared/redis/connect.js';
import { checkRedis, RedisHealth } from '../shared/redis/health.js';
import { claimRedis } from '../shared/redis/owner.js';
import { ApiKeyStore } from '../shared/store/accounts/api-keys.js';
import { KeySettingsStore } from '../shared/store/accounts/key-settings.js';
import { OrganisationStore } from '../shared/store/accounts/organisations.js';
import { CallDocuments } from '../shared/store/calls/call-documents.js';
import { ErasureStore } from '../shared/store/calls/erasures.js';
import { IdempotencyStore } from '../shared/store/calls/idempotency.js';
import { PredictionStore } from '../shared/store/calls/predictions.js';
import { UsageLedger } from '../shared/store/calls/usage-ledger.js';
import { connectMongo } from '../shared/store/connection/connect.js';
import { installationId } from '../shared/store/connection/installation-id.js';
import { prepareDatabase } from '../shared/store/connection/prepare-database.js';
import { loadManifest } from '../shared/store/models/model-versions.js';
import { ModelStore } from '../shared/store/models/models.js';
import { ValidationStore } from '../shared/store/validation/model-validation.js';
import { OutcomeStore } from '../shared/store/validation/outcomes.js';
import { ValidationDailyStore } from '../shared/store/validation/validation-daily.js';
import { AuthAttempts } from './auth/auth-attempts.js';
import { Authenticator } from './auth/authenticate.js';
import { callerAddressBehind } from './auth/client-ip.js';
import { noteKeySettings } from './auth/key-settings.js';
import { Dispatcher } from './dispatch/dispatcher.js';
import { LaneQueues } from './dispatch/lane-queues.js';
import { blockMs, ReplyStream } from './dispatch/reply-stream.js';
import { createApp } from './http/app.js';
import { Drain } from './http/drain.js';
import { CallMetrics, observeGateway } from './http/metrics.js';
import { ownUrlOf } from './http/server.js';
import { answerTransportErrors } from './http/transport-errors.js';
import { IdempotencyKeys } from './idempotency/idempotency.js';
import { Metering } from './metering/metering.js';
import { CallVoider } from './metering/void-calls.js';
import { Recorder } from './record/recorder.js';
import { BodyMemory } from './request/body-memory.js';
import { LargeBodies } from './request/large-bodies.js';
import { RateLimit } from './request/rate-limit.js';
import { Admission } from './scoring/admission.js';
import { ModelVerdicts } from './scoring/model-verdicts.js';
import { WorkspaceCache } from './scoring/workspace-cache.js';

/** For the headers of a request to arrive; no more than its body has. */
const maxHeadersMs = 10_000;

/** For Redis to answer one command. */
const maxCommandMs = 2_000;

/* The gateway: settings, connections, rooms, routes, start; stopped in reverse. */

async function start(config: Config, logger: Logger): Promise<void> {
  const { redisUrl, mongoUrl } = config;
  if (redisUrl === undefined || mongoUrl === undefined) {
    throw new Error(
      'REDIS_URL and MONGODB_URL must be set; `npm start` runs private servers when they are not',
    );
  }
  const lifecycle = new Lifecycle(logger);
  const clock = machineClock(config.clockOffsetMs);
  const gatewayId = randomUUID();
  /** No single step of a call may take longer than the whole call. */
  const minDeadlineMs = Math.min(config.requestTimeoutMs, config.webhookTimeoutMs);
  const maxStepMs = Math.min(maxCommandMs, minDeadlineMs);

  const connect = (name: string, kind: 'commands' | 'blocking', pipelined = false) => {
    const redis = connectRedis({
      url: redisUrl,
      name: `leadscore-gateway-${name}`,
      kind,
      logger,
      pipelined,
      commandTimeoutMs: maxStepMs,
      // Changes come by themselves.
      maxBlockMs: blockMs,
    });
    lifecycle.onStop(`redis ${name}`, async () => redis.disconnect());
    return redis;
  };
  const commands = connect('commands', 'commands', true);
  const jobs = connect('jobs', 'commands');
  const replyReader = connect('replies', 'blocking');
  const subscriber = connect('changes', 'blocking');
  await Promise.all([commands, jobs, replyReader, subscriber].map((redis) => connectionReady(redis)));
  await retryAtStart(() => checkRedis(commands, logger));
  const mongo = await connectMongo(mongoUrl, { name: 'leadscore-gateway' });
  lifecycle.onStop('mongo', () => mongo.client.close());
  await prepareDatabase(mongo.database);

  const { database } = mongo;
  const installation = await retryAtStart(() => installationId(database));
  await retryAtStart(() => claimRedis(commands, installation));
  const keySettings = { brand: config.keyBrand, pepper: config.keyPepper };
  const ledger = new UsageLedger(database, clock);
  const predictions = new PredictionStore(database);
  const idempotency = new IdempotencyStore(database);
  const keys = new Authenticator({
    keys: new ApiKeyStore(database),
    ...keySettings,
    timeoutMs: minDeadlineMs,
    unknownKeys: new AuthAttempts({ addressOf: callerAddressBehind(config.trustedProxies) }),
  });
  const models = new ModelStore(database);
  const workspaces = new WorkspaceCache({
    organisations: new OrganisationStore(database),
    models,
    loadManifest: (modelId, version) => loadManifest(database, modelId, version),
  });
  const verdicts = new ModelVerdicts({ validation: new ValidationStore(database), clock, logger });
  await subscribeToChanges(subscriber, {
    onChange: ({ kind, id }) => {
      if (kind === 'key') keys.forget(id);
      else if (kind === 'validation') verdicts.invalidateAll();
      else workspaces.invalidateAll();
    },
    onGap: () => {
      keys.invalidateAll();
      workspaces.invalidateAll();
      verdicts.invalidateAll();
    },
  });

  const recorder = new Recorder({
    client: mongo.client,
    calls: new CallDocuments(database),
    ledger,
    idempotency,
  });
  const quota = new Quota({ redis: commands, ledger, leaseMs: leaseMsOf(config), clock });
  const latest = new LatestScores(commands);
  const callVoider = new CallVoider({
    voidCall: (callId) => recorder.voidCall(callId),
    quota,
    latest,
    logger,
  });
  lifecycle.onStop('take-backs', () => callVoider.stop());
  const metering = new Metering({ quota, clock, logger, callVoider });
  const queues = new LaneQueues(jobs, logger);
  await queues.start();
  lifecycle.onStop('lanes', () => queues.close());
  const replies = new ReplyStream({ gatewayId, blocking: replyReader, commands: jobs, logger });
  replies.start();
  lifecycle.onStop('replies', () => replies.stop());
  const dispatcher = new Dispatcher({ gatewayId, queues, replies });

  const metrics = createMetrics();
  observeGateway(metrics, { dispatcher, callVoider });
  observeClock(metrics, lifecycle.add(new ClockWatch(commands, logger)));
  const pulse = lifecycle.add(new RedisHealth(commands));
  // No command waits on these for as long as there is nothing to send: that they were lost would be noticed late, or never.
  for (const quiet of [jobs, subscriber]) lifecycle.add(new RedisHealth(quiet));
  const readiness = async () => pulse.problem;
  let drain: Drain | undefined;
  let ownUrl = '';
  const baseUrl = () => config.baseUrl ?? ownUrl;
  const docsUrl = () => config.docsUrl ?? `${baseUrl()}/docs`;
  const rateLimit = new RateLimit(commands, maxStepMs);
  const newCallId = callIdGenerator();
  const app = createApp({
    score: {
      keys,
      receiving: { rateLimit, clock, newCallId, limits: config, bodies: new BodyMemory(config) },
      largeBodies: new LargeBodies(),
      scoring: {
        admission: new Admission({ workspaces, verdicts, clock }),
        idempotencyKeys: new IdempotencyKeys({ redis: commands, store: idempotency, clock }),
        metering,
        dispatcher,
        recorder,
      },
      requestTimeoutMs: config.requestTimeoutMs,
      webhookTimeoutMs: config.webhookTimeoutMs,
    },
    reading: { keys, workspaces, rateLimit, clock, newCallId, timeoutMs: config.requestTimeoutMs },
    verdicts,
    predictions,
    latest,
    outcomes: new OutcomeStore(database),
    daily: new ValidationDailyStore(database),
    idempotency,
    erasures: new ErasureStore(database),
    models,
    legacyAliases: config.legacyAliases,
    logger,
    metrics: new CallMetrics(metrics),
    configuredUrl: config.baseUrl,
    baseUrl,
    docsUrl,
    readiness,
    isDraining: () => drain?.isDraining ?? false,
  });
  lifecycle.add(
    await startAdminServer({ host: config.host, port: config.adminPort, registry: metrics, readiness }),
  );

  const server = createServer(
    {
      keepAliveTimeout: 65_000,
      headersTimeout: Math.min(maxHeadersMs, config.bodyTimeoutMs),
      requestTimeout: 0,
      connectionsCheckingInterval: Math.min(1_000, config.bodyTimeoutMs),
      // Checked further in, where the refusal gets the envelope.
      requireHostHeader: false,
    },
    app.callback(),
  );
  // Node would drop every header behind the thousandth without a word; their bytes are limited anyway.
  server.maxHeadersCount = 0;
  answerTransportErrors(server, docsUrl);
  await listen(server, config.host, config.port);
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : config.port;
  ownUrl = ownUrlOf(config.host, port);
  const maxCallMs = Math.max(config.requestTimeoutMs, config.webhookTimeoutMs);
  drain = lifecycle.add(new Drain(server, maxCallMs));
  lifecycle.listenForSignals();
  lifecycle.followParent();
  await noteKeySettings(new KeySettingsStore(database), keySettings, logger);
  logger.info({ url: ownUrl }, 'gateway ready');
  process.send?.({ kind: 'ready', url: ownUrl });
}

const config = readSettings('gateway', () => readConfig());
const logger = createLogger(config.logLevel, 'gateway');
process.on('unhandledRejection', (error) => logger.error({ error }, 'unhandled rejection'));
start(config, logger).catch((error: unknown) => {
  logger.fatal({ error }, `the gateway could not start: ${messageOf(error)}`);
  process.exit(1);
});
