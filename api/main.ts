import { type Config, readConfig } from '../shared/config/config.js';
import { dayMs, machineClock } from '../shared/contract/dates.js';
import { messageOf } from '../shared/contract/errors.js';
import { callIdGenerator } from '../shared/contract/identifiers.js';
import { addRefusedCalls } from '../shared/messages/refused-calls.js';
import { openTurnQueue, turnQueues } from '../shared/messages/turn-queue.js';
import { createMetrics, type Readiness, startAdminServer } from '../shared/process/admin-server.js';
import { ClockWatch, observeClock } from '../shared/process/clock-watch.js';
import { Lifecycle, readSettings } from '../shared/process/lifecycle.js';
import { createLogger, type Logger } from '../shared/process/logger.js';
import { ProcessNotes } from '../shared/process/process-notes.js';
import { hasCallsInFlight } from '../shared/quota/calls-in-flight.js';
import { leaseMsOf } from '../shared/quota/leases.js';
import { type Redis, redisNowMs } from '../shared/redis/connect.js';
import { RedisHealth } from '../shared/redis/health.js';
import { ProcessRegister } from '../shared/redis/process-register.js';
import { ApiKeyStore } from '../shared/store/accounts/api-keys.js';
import { ErasureStore, erasingStores } from '../shared/store/calls/erasures.js';
import { PredictionStore } from '../shared/store/calls/predictions.js';
import type { Mongo } from '../shared/store/connection/connect.js';
import { CallDayStore } from '../shared/store/console/call-days.js';
import { OutcomeStore } from '../shared/store/validation/outcomes.js';
import { startCaches } from './admission/caches.js';
import { AuthAttempts } from './auth/auth-attempts.js';
import { Authenticator } from './auth/authenticate.js';
import { callerAddressBehind } from './auth/client-ip.js';
import { checkKeySettings, claimKeySettings } from './auth/key-settings.js';
import {
  type Connections,
  commandTimeoutMs,
  connect,
  connectSubscriber,
  minDeadlineMsOf,
  type ScoringProcess,
} from './connections.js';
import { createApp } from './http/app.js';
import { CallDays } from './http/call-days.js';
import { Drain } from './http/drain.js';
import { observeCalls, observeGateway } from './http/metrics.js';
import { RefusedCalls } from './http/refused-calls.js';
import { startServer } from './http/server.js';
import { UnusedBytes } from './http/unused-bytes.js';
import { LargeCalls } from './large-calls/large-calls.js';
import { BodyMemory } from './request/body-memory.js';
import { LargeBodies } from './request/large-bodies.js';
import { RateLimit } from './request/rate-limit.js';
import { gatewayTransfers, jobDeps } from './routes/jobs/job-routes.js';
import { GradeRequests } from './routes/outcomes/grade-requests.js';
import { OutcomeLimit } from './routes/outcomes/outcome-limit.js';
import { readTurns } from './routes/reading.js';
import { scoringAnswers } from './routes/scoring-routes.js';
import { startScoring } from './services.js';

/**
 * The composition root of the gateway. `start` reads as the order of start: connections, services, HTTP. The lifecycle
 * stops all of it in reverse.
 */
interface Gateway extends ScoringProcess {
  readonly config: Config;
}

interface GatewayConnections extends Connections {
  readonly subscriber: Redis;
}

async function start(config: Config, logger: Logger): Promise<void> {
  const lifecycle = new Lifecycle(logger);
  const clock = machineClock(config.clockOffsetMs);
  const checkDatabase = (database: Mongo['database']) => checkKeySettings(database, config);
  const gateway = { name: 'gateway', config, logger, lifecycle, clock, checkDatabase } as const;
  const connections = { ...(await connect(gateway)), subscriber: await connectSubscriber(gateway) };
  await claimKeySettings({ database: connections.mongo.database, redis: connections.commands, config, logger });
  const services = await startServices(gateway, connections);
  await serve(gateway, connections, services);
}

type Services = Awaited<ReturnType<typeof startServices>>;

/** Makes the services of all routes, and starts those that run in the background. */
async function startServices(gateway: Gateway, connections: GatewayConnections) {
  const { config, logger, lifecycle } = gateway;
  const { mongo, subscriber } = connections;
  const { database } = mongo;
  const [largeCalls, { follower, ...caches }] = await Promise.all([
    LargeCalls.start((error) => {
      logger.fatal({ error }, `the gateway cannot answer large calls: ${messageOf(error)}`);
      process.exit(1);
    }),
    startCaches({
      ...gateway,
      database,
      subscriber,
      keysWith: (isFollowing) => authenticator(gateway, { database, isFollowing }),
    }),
  ]);
  lifecycle.add(largeCalls);
  lifecycle.add(follower);
  const scoring = await startScoring(gateway, connections, { caches, sumsFieldDays: true });
  const outcomes = new OutcomeStore(database);
  return {
    ...caches,
    ...scoring,
    largeCalls,
    outcomes,
    gradeRequests: new GradeRequests({ redis: connections.jobs, logger }),
    outcomeLimit: new OutcomeLimit({ outcomes, retentionDays: config.retentionDays }),
    predictions: new PredictionStore(database),
  };
}

function authenticator(
  { config, clock }: Gateway,
  { database, isFollowing }: { readonly database: Mongo['database']; readonly isFollowing: () => boolean },
): Authenticator {
  return new Authenticator({
    keys: new ApiKeyStore(database),
    brand: config.keyBrand,
    pepper: config.keyPepper,
    previousPepper: config.keyPepperPrevious,
    timeoutMs: minDeadlineMsOf(config),
    unknownKeys: new AuthAttempts({ addressOf: callerAddressBehind(config.trustedProxies) }),
    clock,
    isFollowing,
  });
}

/** Serves the API and the port for operators; announces itself when both accept connections. */
async function serve(gateway: Gateway, connections: GatewayConnections, services: Services): Promise<void> {
  const { config, logger, lifecycle } = gateway;
  const { commands, jobs, subscriber, mongo } = connections;
  const metrics = createMetrics();
  observeGateway(metrics, services);
  const clock = lifecycle.add(new ClockWatch(commands, logger));
  observeClock(metrics, clock);
  lifecycle.add(new ProcessNotes({ kind: 'gateway', redis: commands, config, clock }));
  const health = lifecycle.add(new RedisHealth(commands, { ...config.timings.redis, outage: logger.outages.Redis }));
  // These connections are idle most of the time. Without a periodic PING a half-open one would go unnoticed.
  for (const idle of [jobs, subscriber])
    lifecycle.add(new RedisHealth(idle, { ...config.timings.redis, outage: logger.outages.Redis }));
  const { queues } = services;
  const readiness: Readiness = async (except) => health.problem ?? queues.problem(except === 'workers');
  let drain: Drain | undefined;
  let ownUrl = '';
  const baseUrl = () => config.baseUrl ?? ownUrl;
  const docsUrl = () => config.docsUrl ?? `${baseUrl()}/docs`;
  const unused = new UnusedBytes(callerAddressBehind(config.trustedProxies));
  const app = createApp({
    ...appServices(gateway, connections, services),
    unused,
    legacyAliases: config.legacyAliases,
    logger,
    countCalls: observeCalls(metrics),
    callDays: lifecycle.add(
      new CallDays({
        store: new CallDayStore(mongo.database),
        clock: gateway.clock,
        logger,
        ...config.timings.daySums,
      }),
    ),
    refusedCalls: lifecycle.add(
      new RefusedCalls({
        add: (organisationId, calls) => addRefusedCalls(connections.commands, organisationId, calls),
        clock: gateway.clock,
        logger,
        ...config.timings.refusedCalls,
      }),
    ),
    configuredUrl: config.baseUrl,
    keyBrand: config.keyBrand,
    baseUrl,
    docsUrl,
    readiness,
    isDraining: () => drain?.isDraining ?? false,
  });
  lifecycle.add(await startAdminServer({ host: config.host, port: config.adminPort, registry: metrics, readiness }));
  const { server, url } = await startServer(app.callback(), { ...config, docsUrl, unused });
  ownUrl = url;
  const maxCallMs = Math.max(config.requestTimeoutMs, config.webhookTimeoutMs);
  drain = lifecycle.add(new Drain(server, { ...config.timings.drain, maxCallMs }));
  lifecycle.listenForSignals();
  lifecycle.followParent();
  logger.info({ url }, 'gateway ready');
  process.send?.({ kind: 'ready', url });
}

/** The services in the form in which the routes take them. */
function appServices(gateway: Gateway, { commands, jobs, mongo }: Connections, services: Services) {
  const { config, clock, logger, lifecycle } = gateway;
  const { database } = mongo;
  const { keys, workspaces, queues, largeCalls } = services;
  const common = {
    rateLimit: new RateLimit(commands, commandTimeoutMs(gateway)),
    clock,
    newCallId: callIdGenerator(),
  };
  const score = {
    keys,
    receiving: { ...common, limits: config, bodies: new BodyMemory(config) },
    largeBodies: new LargeBodies(() => queues.workersOf('batches')),
    largeCalls,
    answers: scoringAnswers(services),
    requestTimeoutMs: config.requestTimeoutMs,
    webhookTimeoutMs: config.webhookTimeoutMs,
  };
  const reading = { ...common, keys, workspaces, turns: readTurns(), timeoutMs: config.requestTimeoutMs };
  return {
    ...services,
    score,
    reading,
    usageDays: { database, redis: commands },
    jobs: {
      ...jobDeps({
        ...services,
        database,
        clock,
        logger,
        waiting: lifecycle.add(openTurnQueue({ queue: turnQueues.reading, commands: jobs, logger })),
        processes: new ProcessRegister(commands),
        retentionMs: config.jobRetentionDays * dayMs,
        bodyTimeoutMs: config.bodyTimeoutMs,
        transfers: gatewayTransfers,
      }),
      ...{ reading, score, workspaces, admission: services.admission },
    },
    erasing: {
      ...services,
      ...erasingStores(database),
      erasures: new ErasureStore(database),
      redisNowMs: () => redisNowMs(commands),
      hasCallsInFlight: (id: string) => hasCallsInFlight(services.quotaCommands, id, clock.now()),
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
