import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { createMetrics, listen, startAdminServer } from '../shared/admin-server.js';
import { subscribeToChanges } from '../shared/changes.js';
import { machineClock } from '../shared/clock.js';
import { ClockWatch, observeClock } from '../shared/clock-watch.js';
import { type Config, readConfig } from '../shared/config.js';
import { messageOf } from '../shared/errors.js';
import { requireFitRedis } from '../shared/fit-redis.js';
import { callIdGenerator } from '../shared/identifiers.js';
import { claimRedis } from '../shared/installation.js';
import { Lifecycle } from '../shared/lifecycle.js';
import { createLogger, type Logger } from '../shared/logger.js';
import { NewestScores } from '../shared/newest-scores/newest-scores.js';
import { leaseMsOf } from '../shared/quota/lease.js';
import { Quota } from '../shared/quota/quota.js';
import { readSettings } from '../shared/read-settings.js';
import { connectionReady, connectRedis } from '../shared/redis.js';
import { RedisPulse } from '../shared/redis-pulse.js';
import { startStep } from '../shared/start-step.js';
import { ApiKeyStore } from '../shared/store/api-keys.js';
import { CallDocuments } from '../shared/store/call-documents.js';
import { connectMongo } from '../shared/store/connect.js';
import { ErasureStore } from '../shared/store/erasures.js';
import { IdempotencyStore } from '../shared/store/idempotency.js';
import { installationId } from '../shared/store/installation-id.js';
import { KeySettingsStore } from '../shared/store/key-settings.js';
import { ValidationStore } from '../shared/store/model-validation.js';
import { loadManifest } from '../shared/store/model-versions.js';
import { ModelStore } from '../shared/store/models.js';
import { OrganisationStore } from '../shared/store/organisations.js';
import { OutcomeStore } from '../shared/store/outcomes.js';
import { PredictionStore } from '../shared/store/predictions.js';
import { prepareDatabase } from '../shared/store/prepare.js';
import { UsageLedger } from '../shared/store/usage-ledger.js';
import { ValidationDailyStore } from '../shared/store/validation-daily.js';
import { Admission } from './admission.js';
import { createApp } from './app.js';
import { BodiesUnderWay } from './bodies-under-way.js';
import { CallMetrics } from './call-metrics.js';
import { callerAddressBehind } from './caller-address.js';
import { Directory } from './directory.js';
import { Dispatcher } from './dispatch/dispatcher.js';
import { LaneQueues } from './dispatch/lane-queues.js';
import { blockMs, ReplyStream } from './dispatch/reply-stream.js';
import { Drain } from './drain.js';
import { observeGateway } from './gateway-metrics.js';
import { HeavyCalls } from './heavy-calls.js';
import { KeyStore } from './key-store.js';
import { Metering } from './metering.js';
import { noteKeySettings } from './note-key-settings.js';
import { ownUrlOf } from './own-url.js';
import { RateLimit } from './rate-limit/rate-limit.js';
import { Recorder } from './record/recorder.js';
import { TakeBacks } from './record/take-backs.js';
import { Replays } from './replays.js';
import { answerTransportErrors } from './transport-errors.js';
import { UnknownKeys } from './unknown-keys.js';
import { Verdicts } from './verdicts.js';

/** For the headers of a request to arrive; no more than its body has. */
const longestHeadersMs = 10_000;

/** For Redis to answer one command. */
const longestCommandMs = 2_000;

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
  const shortestDeadlineMs = Math.min(config.requestTimeoutMs, config.webhookTimeoutMs);
  const longestStepMs = Math.min(longestCommandMs, shortestDeadlineMs);

  const connect = (name: string, kind: 'commands' | 'blocking', pipelined = false) => {
    const redis = connectRedis({
      url: redisUrl,
      name: `leadscore-gateway-${name}`,
      kind,
      logger,
      pipelined,
      commandTimeoutMs: longestStepMs,
      // Changes come by themselves.
      longestBlockMs: blockMs,
    });
    lifecycle.onStop(`redis ${name}`, async () => redis.disconnect());
    return redis;
  };
  const commands = connect('commands', 'commands', true);
  const jobs = connect('jobs', 'commands');
  const replyReader = connect('replies', 'blocking');
  const subscriber = connect('changes', 'blocking');
  await Promise.all([commands, jobs, replyReader, subscriber].map((redis) => connectionReady(redis)));
  await startStep(() => requireFitRedis(commands, logger));
  const mongo = await connectMongo(mongoUrl, { name: 'leadscore-gateway' });
  lifecycle.onStop('mongo', () => mongo.client.close());
  await prepareDatabase(mongo.database);

  const { database } = mongo;
  const installation = await startStep(() => installationId(database));
  await startStep(() => claimRedis(commands, installation));
  const keySettings = { brand: config.keyBrand, pepper: config.keyPepper };
  const ledger = new UsageLedger(database, clock);
  const predictions = new PredictionStore(database);
  const idempotency = new IdempotencyStore(database);
  const keys = new KeyStore({
    keys: new ApiKeyStore(database),
    ...keySettings,
    timeoutMs: shortestDeadlineMs,
    unknownKeys: new UnknownKeys({ addressOf: callerAddressBehind(config.trustedProxies) }),
  });
  const models = new ModelStore(database);
  const directory = new Directory({
    organisations: new OrganisationStore(database),
    models,
    loadManifest: (modelId, version) => loadManifest(database, modelId, version),
  });
  const verdicts = new Verdicts({ validation: new ValidationStore(database), clock, logger });
  await subscribeToChanges(subscriber, {
    onChange: ({ kind, id }) => {
      if (kind === 'key') keys.forget(id);
      else if (kind === 'validation') verdicts.forgetAll();
      else directory.forgetAll();
    },
    onGap: () => {
      keys.forgetAll();
      directory.forgetAll();
      verdicts.forgetAll();
    },
  });

  const recorder = new Recorder({
    client: mongo.client,
    calls: new CallDocuments(database),
    ledger,
    idempotency,
  });
  const quota = new Quota({ redis: commands, ledger, leaseMs: leaseMsOf(config), clock });
  const newest = new NewestScores(commands);
  const takeBacks = new TakeBacks({
    voidCall: (callId) => recorder.voidCall(callId),
    quota,
    newest,
    logger,
  });
  lifecycle.onStop('take-backs', () => takeBacks.stop());
  const metering = new Metering({ quota, clock, logger, takeBacks });
  const queues = new LaneQueues(jobs, logger);
  await queues.start();
  lifecycle.onStop('lanes', () => queues.close());
  const replies = new ReplyStream({ gatewayId, blocking: replyReader, commands: jobs, logger });
  replies.start();
  lifecycle.onStop('replies', () => replies.stop());
  const dispatcher = new Dispatcher({ gatewayId, queues, replies });

  const metrics = createMetrics();
  observeGateway(metrics, { dispatcher, takeBacks });
  observeClock(metrics, lifecycle.add(new ClockWatch(commands, logger)));
  const pulse = lifecycle.add(new RedisPulse(commands));
  // No command waits on these for as long as there is nothing to send: that they were lost would be noticed late, or never.
  for (const quiet of [jobs, subscriber]) lifecycle.add(new RedisPulse(quiet));
  const readiness = async () => pulse.complaint;
  let drain: Drain | undefined;
  let ownUrl = '';
  const baseUrl = () => config.baseUrl ?? ownUrl;
  const docsUrl = () => config.docsUrl ?? `${baseUrl()}/docs`;
  const rateLimit = new RateLimit(commands, longestStepMs);
  const newCallId = callIdGenerator();
  const app = createApp({
    score: {
      keys,
      receiving: { rateLimit, clock, newCallId, limits: config, bodies: new BodiesUnderWay(config) },
      heavyCalls: new HeavyCalls(),
      scoring: {
        admission: new Admission({ directory, verdicts, clock }),
        replays: new Replays({ redis: commands, store: idempotency, clock }),
        metering,
        dispatcher,
        recorder,
      },
      requestTimeoutMs: config.requestTimeoutMs,
      webhookTimeoutMs: config.webhookTimeoutMs,
    },
    reading: { keys, directory, rateLimit, clock, newCallId, timeoutMs: config.requestTimeoutMs },
    verdicts,
    predictions,
    newest,
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
      headersTimeout: Math.min(longestHeadersMs, config.bodyTimeoutMs),
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
  const longestCallMs = Math.max(config.requestTimeoutMs, config.webhookTimeoutMs);
  drain = lifecycle.add(new Drain(server, longestCallMs));
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
