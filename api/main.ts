import { randomUUID } from 'node:crypto';
import { retryAtStart } from '../shared/async/retry.js';
import { type Config, readConfig } from '../shared/config/config.js';
import { type Clock, machineClock } from '../shared/contract/dates.js';
import { messageOf } from '../shared/contract/errors.js';
import { callIdGenerator } from '../shared/contract/identifiers.js';
import { LatestScores } from '../shared/latest-scores/latest-scores.js';
import { createMetrics, startAdminServer } from '../shared/process/admin-server.js';
import { ClockWatch, observeClock } from '../shared/process/clock-watch.js';
import { Lifecycle, readSettings } from '../shared/process/lifecycle.js';
import { createLogger, type Logger } from '../shared/process/logger.js';
import { leaseMsOf } from '../shared/quota/leases.js';
import { Quota } from '../shared/quota/quota.js';
import { CallVoids } from '../shared/quota/voids.js';
import { subscribeToChanges } from '../shared/redis/changes.js';
import { connectionReady, connectRedis, type Redis, redisNowMs } from '../shared/redis/connect.js';
import { checkRedis, RedisHealth } from '../shared/redis/health.js';
import { claimLease, claimRedis } from '../shared/redis/owner.js';
import { ApiKeyStore } from '../shared/store/accounts/api-keys.js';
import { KeySettingsStore } from '../shared/store/accounts/key-settings.js';
import { OrganisationStore } from '../shared/store/accounts/organisations.js';
import { CallDocuments } from '../shared/store/calls/call-documents.js';
import { ErasureStore } from '../shared/store/calls/erasures.js';
import { IdempotencyStore } from '../shared/store/calls/idempotency.js';
import { PredictionStore } from '../shared/store/calls/predictions.js';
import { UsageLedger } from '../shared/store/calls/usage-ledger.js';
import { voidCall } from '../shared/store/calls/void-call.js';
import { connectMongo, type Mongo } from '../shared/store/connection/connect.js';
import { installationId } from '../shared/store/connection/installation-id.js';
import { prepareDatabase } from '../shared/store/connection/prepare-database.js';
import { loadStoredManifest } from '../shared/store/models/model-versions.js';
import { ModelStore } from '../shared/store/models/models.js';
import { ValidationStore } from '../shared/store/validation/model-validation.js';
import { OutcomeStore } from '../shared/store/validation/outcomes.js';
import { ValidationDailyStore } from '../shared/store/validation/validation-daily.js';
import { AuthAttempts } from './auth/auth-attempts.js';
import { Authenticator } from './auth/authenticate.js';
import { callerAddressBehind } from './auth/client-ip.js';
import { Dispatcher } from './dispatch/dispatcher.js';
import { LaneQueues } from './dispatch/lane-queues.js';
import { blockMs, ReplyStream } from './dispatch/reply-stream.js';
import { createApp } from './http/app.js';
import { Drain } from './http/drain.js';
import { observeCalls, observeGateway } from './http/metrics.js';
import { startServer } from './http/server.js';
import { IdempotencyKeys } from './idempotency/idempotency.js';
import { Metering } from './metering/metering.js';
import { OutcomeLimit } from './metering/outcome-limit.js';
import { CallVoider } from './metering/void-calls.js';
import { Recorder } from './record/recorder.js';
import { BodyMemory } from './request/body-memory.js';
import { LargeBodies } from './request/large-bodies.js';
import { RateLimit } from './request/rate-limit.js';
import { Admission } from './scoring/admission.js';
import { ModelVerdicts } from './scoring/model-verdicts.js';
import { WorkspaceCache } from './scoring/workspace-cache.js';

/** Ms for Redis to answer one command. */
const maxCommandMs = 2_000;

/**
 * The composition root of the gateway. `start` reads as the order of start: connections, services, HTTP. The lifecycle
 * stops all of it in reverse.
 */
interface Gateway {
  readonly config: Config;
  readonly logger: Logger;
  readonly lifecycle: Lifecycle;
  readonly clock: Clock;
  /** The shorter deadline of the two scoring endpoints: no single step may take longer. */
  readonly minDeadlineMs: number;
}

interface Connections {
  /** Quota, rate limit, latest scores, idempotency claims. Commands of one turn of the event loop share a write. */
  readonly commands: Redis;
  /** BullMQ jobs and the trimming of replies. Their order matters, so they do not share writes. */
  readonly jobs: Redis;
  readonly replyReader: Redis;
  readonly subscriber: Redis;
  readonly mongo: Mongo;
}

async function start(config: Config, logger: Logger): Promise<void> {
  const lifecycle = new Lifecycle(logger);
  const minDeadlineMs = Math.min(config.requestTimeoutMs, config.webhookTimeoutMs);
  const gateway = { config, logger, lifecycle, clock: machineClock(config.clockOffsetMs), minDeadlineMs };
  const connections = await connect(gateway);
  const services = await startServices(gateway, connections);
  await serve(gateway, connections, services);
}

/** Connects to Redis and MongoDB, and checks that both can be used, together. */
async function connect(gateway: Gateway): Promise<Connections> {
  const { config, logger, lifecycle } = gateway;
  const { redisUrl, mongoUrl } = config;
  if (redisUrl === undefined || mongoUrl === undefined) {
    throw new Error('REDIS_URL and MONGODB_URL must be set. `npm start` runs private servers without them.');
  }
  const connectTo = (name: string, kind: 'commands' | 'blocking', pipelined = false) => {
    const redis = connectRedis({
      url: redisUrl,
      name: `leadscore-gateway-${name}`,
      kind,
      logger,
      pipelined,
      commandTimeoutMs: commandTimeoutMs(gateway),
      maxBlockMs: blockMs,
      minPatienceMs: config.timings.redis.minPatienceMs,
    });
    lifecycle.onStop(`redis ${name}`, async () => redis.disconnect());
    return redis;
  };
  const redis = {
    commands: connectTo('commands', 'commands', true),
    jobs: connectTo('jobs', 'commands'),
    replyReader: connectTo('replies', 'blocking'),
    subscriber: connectTo('changes', 'blocking'),
  };
  await Promise.all(Object.values(redis).map((each) => connectionReady(each)));
  await retryAtStart(() => checkRedis(redis.commands, logger));
  const mongo = await connectMongo(mongoUrl, { name: 'leadscore-gateway' });
  lifecycle.onStop('mongo', () => mongo.client.close());
  await prepareDatabase(mongo.database);
  const installation = await retryAtStart(() => installationId(mongo.database));
  await retryAtStart(() => claimRedis(redis.commands, installation));
  await retryAtStart(() => claimLease(redis.commands, leaseMsOf(config)));
  return { ...redis, mongo };
}

const commandTimeoutMs = ({ minDeadlineMs }: Gateway): number => Math.min(maxCommandMs, minDeadlineMs);

type Services = Awaited<ReturnType<typeof startServices>>;

/** Makes the services of a call, and starts those that run in the background: change listeners, queues, replies. */
async function startServices(gateway: Gateway, connections: Connections) {
  const { config, logger, lifecycle, clock } = gateway;
  const { commands, mongo } = connections;
  const { client, database } = mongo;
  const caches = await startCaches(gateway, connections);
  const ledger = new UsageLedger(database, clock);
  const idempotency = new IdempotencyStore(database);
  const recorder = new Recorder({ client, calls: new CallDocuments(database), ledger, idempotency });
  const quota = new Quota({ redis: commands, ledger, leaseMs: leaseMsOf(config), clock });
  const latest = new LatestScores(commands);
  const outcomes = new OutcomeStore(database);
  const voidInLedger = (callId: string) => voidCall(callId, { client, ledger, idempotency });
  const callVoider = new CallVoider({ voids: new CallVoids({ redis: commands, quota, latest, voidInLedger }), logger });
  lifecycle.onStop('call voider', () => callVoider.stop());
  return {
    ...caches,
    idempotency,
    recorder,
    latest,
    callVoider,
    outcomes,
    outcomeLimit: new OutcomeLimit({ outcomes, ledger, clock, retentionDays: config.retentionDays }),
    predictions: new PredictionStore(database),
    metering: new Metering({ quota, clock, logger, callVoider }),
    dispatcher: await startDispatcher(gateway, connections),
    idempotencyKeys: new IdempotencyKeys({ redis: commands, store: idempotency, clock }),
  };
}

/** The caches of keys, workspaces and verdicts. A change that the CLI announces invalidates them at once. */
async function startCaches({ config, logger, clock, minDeadlineMs }: Gateway, connections: Connections) {
  const { database } = connections.mongo;
  const keys = new Authenticator({
    keys: new ApiKeyStore(database),
    brand: config.keyBrand,
    pepper: config.keyPepper,
    timeoutMs: minDeadlineMs,
    unknownKeys: new AuthAttempts({ addressOf: callerAddressBehind(config.trustedProxies) }),
  });
  const models = new ModelStore(database);
  const workspaces = new WorkspaceCache({
    organisations: new OrganisationStore(database),
    models,
    loadManifest: (modelId, version) => loadStoredManifest(database, modelId, version),
  });
  const verdicts = new ModelVerdicts({ validation: new ValidationStore(database), clock, logger });
  await subscribeToChanges(connections.subscriber, {
    onChange: ({ kind, id }) => {
      if (kind === 'key') keys.forget(id);
      else if (kind === 'validation') verdicts.forget(id);
      else workspaces.invalidateAll();
    },
    onGap: () => {
      for (const cache of [keys, workspaces, verdicts]) cache.invalidateAll();
    },
  });
  return { keys, models, workspaces, verdicts };
}

async function startDispatcher({ logger, lifecycle }: Gateway, { jobs, replyReader }: Connections) {
  const gatewayId = randomUUID();
  const queues = new LaneQueues(jobs, logger);
  await queues.start();
  lifecycle.onStop('lanes', () => queues.close());
  const replies = new ReplyStream({ gatewayId, blocking: replyReader, commands: jobs, logger });
  replies.start();
  lifecycle.onStop('replies', () => replies.stop());
  return new Dispatcher({ gatewayId, queues, replies });
}

/** Serves the API and the port for operators; announces itself when both accept connections. */
async function serve(gateway: Gateway, connections: Connections, services: Services): Promise<void> {
  const { config, logger, lifecycle } = gateway;
  const { commands, jobs, subscriber, mongo } = connections;
  const metrics = createMetrics();
  observeGateway(metrics, services);
  observeClock(metrics, lifecycle.add(new ClockWatch(commands, logger)));
  const health = lifecycle.add(new RedisHealth(commands, config.timings.redis));
  // These connections are idle most of the time. Without a periodic PING a half-open one would go unnoticed.
  for (const idle of [jobs, subscriber]) lifecycle.add(new RedisHealth(idle, config.timings.redis));
  const readiness = async () => health.problem;
  let drain: Drain | undefined;
  let ownUrl = '';
  const baseUrl = () => config.baseUrl ?? ownUrl;
  const docsUrl = () => config.docsUrl ?? `${baseUrl()}/docs`;
  const app = createApp({
    ...appServices(gateway, connections, services),
    legacyAliases: config.legacyAliases,
    logger,
    countCalls: observeCalls(metrics),
    configuredUrl: config.baseUrl,
    baseUrl,
    docsUrl,
    readiness,
    isDraining: () => drain?.isDraining ?? false,
  });
  lifecycle.add(await startAdminServer({ host: config.host, port: config.adminPort, registry: metrics, readiness }));
  const { server, url } = await startServer(app.callback(), { ...config, docsUrl });
  ownUrl = url;
  const maxCallMs = Math.max(config.requestTimeoutMs, config.webhookTimeoutMs);
  drain = lifecycle.add(new Drain(server, { ...config.timings.drain, maxCallMs }));
  lifecycle.listenForSignals();
  lifecycle.followParent();
  await storeKeySettings(gateway, mongo.database);
  logger.info({ url }, 'gateway ready');
  process.send?.({ kind: 'ready', url });
}

/**
 * Stores the key settings of this gateway, for `leadscore key create` to compare. Called after the gateway listens,
 * because one that fails to start must not change the stored settings.
 */
async function storeKeySettings({ config, logger }: Gateway, database: Mongo['database']): Promise<void> {
  const settings = { brand: config.keyBrand, pepper: config.keyPepper };
  await new KeySettingsStore(database)
    .replace(settings)
    .catch((error: unknown) => logger.warn({ error }, 'could not store key settings'));
}

/** The services in the form in which the routes take them. */
function appServices(gateway: Gateway, { commands, mongo }: Connections, services: Services) {
  const { config, clock } = gateway;
  const { database } = mongo;
  const { keys, workspaces, verdicts } = services;
  const common = {
    rateLimit: new RateLimit(commands, commandTimeoutMs(gateway)),
    clock,
    newCallId: callIdGenerator(),
  };
  return {
    ...services,
    score: {
      keys,
      receiving: { ...common, limits: config, bodies: new BodyMemory(config) },
      largeBodies: new LargeBodies(),
      scoring: { ...services, admission: new Admission({ workspaces, verdicts, clock }) },
      requestTimeoutMs: config.requestTimeoutMs,
      webhookTimeoutMs: config.webhookTimeoutMs,
    },
    reading: { ...common, keys, workspaces, timeoutMs: config.requestTimeoutMs },
    erasing: {
      ...services,
      daily: new ValidationDailyStore(database),
      erasures: new ErasureStore(database),
      redisNowMs: () => redisNowMs(commands),
      leaseMs: leaseMsOf(config),
      keyPepper: config.keyPepper,
    },
  };
}

const config = readSettings('gateway', () => readConfig());
const logger = createLogger(config.logLevel, 'gateway');
process.on('unhandledRejection', (error) => logger.error({ error }, 'unhandled rejection'));
start(config, logger).catch((error: unknown) => {
  logger.fatal({ error }, `the gateway could not start: ${messageOf(error)}`);
  process.exit(1);
});
