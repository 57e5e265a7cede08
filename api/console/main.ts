import type { RequestListener } from 'node:http';
import { actionRoutes, route } from '../../shared/admin/actions.js';
import { retryAtStart } from '../../shared/async/retry.js';
import { type Config, ConfigError, readConfig } from '../../shared/config/config.js';
import { machineClock } from '../../shared/contract/dates.js';
import { messageOf } from '../../shared/contract/errors.js';
import { callIdGenerator } from '../../shared/contract/identifiers.js';
import { Lifecycle, readSettings } from '../../shared/process/lifecycle.js';
import { createLogger, type Logger } from '../../shared/process/logger.js';
import { projectFile } from '../../shared/process/project-root.js';
import { leaseMsOf } from '../../shared/quota/leases.js';
import { connectionReady, connectRedis, type Redis } from '../../shared/redis/connect.js';
import { checkRedis, RedisHealth } from '../../shared/redis/health.js';
import { claimLease, claimRedis } from '../../shared/redis/owner.js';
import { connectionName } from '../../shared/redis/running-processes.js';
import { connectMongo, type Mongo } from '../../shared/store/connection/connect.js';
import { installationId } from '../../shared/store/connection/installation-id.js';
import { prepareDatabase } from '../../shared/store/connection/prepare-database.js';
import { ConsoleAccess } from '../../shared/store/console/console-access.js';
import { MemberStore } from '../../shared/store/console/members.js';
import { AuthAttempts } from '../auth/auth-attempts.js';
import { callerAddressBehind } from '../auth/client-ip.js';
import { checkKeySettings, claimKeySettings } from '../auth/key-settings.js';
import { blockMs } from '../dispatch/reply-stream.js';
import { startServer } from '../http/server.js';
import { UnusedBytes } from '../http/unused-bytes.js';
import { RateLimit } from '../request/rate-limit.js';
import { createConsoleApp } from './app.js';
import { OidcClient } from './http/oidc-client.js';
import { Sessions } from './http/sessions.js';
import { startPlayground } from './playground.js';
import type { ConsoleContext } from './routes/action-routes.js';

/*
 * The console: pages and an API for an organisation's people and for the operator. A process of its own, because port,
 * origin and event loop of a gateway belong to its callers.
 */

/** Ms for Redis to answer one command. */
const commandTimeoutMs = 2_000;
const maxPoolSize = 10;
const maxUploadMs = 5 * 60_000;

interface Connections {
  readonly commands: Redis;
  readonly jobs: Redis;
  readonly replyReader: Redis;
  readonly mongo: Mongo;
}

async function start(config: Config, logger: Logger): Promise<void> {
  const lifecycle = new Lifecycle(logger);
  const connections = await connect(config, logger, lifecycle);
  const { commands, jobs, mongo } = connections;
  const health = lifecycle.add(new RedisHealth(commands, config.timings.redis));
  // Without a periodic PING a half-open connection would go unnoticed until its next use.
  lifecycle.add(new RedisHealth(jobs, config.timings.redis));
  let handle: RequestListener = (_request, response) => {
    response.writeHead(503).end();
  };
  const docsUrl = () => config.docsUrl ?? `${apiUrl(config)}/docs`;
  const { host, consolePort: port, bodyTimeoutMs } = config;
  const unused = new UnusedBytes(callerAddressBehind(config.trustedProxies));
  const { server, url } = await startServer((request, response) => handle(request, response), {
    ...{ host, port, bodyTimeoutMs, docsUrl, unused },
  });
  // Bundles are large, and people upload them over slow lines.
  server.requestTimeout = maxUploadMs;
  lifecycle.onStop('console', async () => {
    server.close();
    server.closeAllConnections();
  });
  const consoleUrl = config.consoleUrl ?? url;
  const admin = adminContext({ config, logger, connections, consoleUrl });
  const playground = await startPlayground({
    ...{ ...connections, ...config, context: admin, logger, lifecycle, timeoutMs: config.requestTimeoutMs },
  });
  const app = createConsoleApp({
    ...{ admin, consoleUrl, logger, bodyTimeoutMs, unused, readiness: async () => health.problem },
    sessions: sessionsOf({ config, logger, connections, consoleUrl }),
    isHttps: isHttps(consoleUrl),
    oidc: config.oidc && new OidcClient(config.oidc, `${consoleUrl}/admin/v1/session/oidc/callback`),
    routes: [...actionRoutes, route('post', '/orgs/:org_id/playground', playground)],
    signIn: admin,
    appFolder: projectFile('dist/api/console/app'),
  });
  handle = app.callback();
  await new ConsoleAccess(mongo.database).storeAddress(consoleUrl);
  lifecycle.listenForSignals();
  lifecycle.followParent();
  logger.info({ url: consoleUrl }, 'console ready');
  process.send?.({ kind: 'ready', url });
}

async function connect(config: Config, logger: Logger, lifecycle: Lifecycle): Promise<Connections> {
  const { redisUrl, mongoUrl } = config;
  if (redisUrl === undefined || mongoUrl === undefined)
    throw new Error('REDIS_URL and MONGODB_URL must be set. `npm start` runs private servers without them.');
  const { minPatienceMs } = config.timings.redis;
  const connectTo = (name: string, kind: 'commands' | 'blocking') => {
    const connection = { url: redisUrl, name: connectionName('console', name), kind, logger, commandTimeoutMs };
    const redis = connectRedis({ ...connection, maxBlockMs: blockMs, minPatienceMs });
    lifecycle.onStop(`redis ${name}`, async () => redis.disconnect());
    return redis;
  };
  const commands = connectTo('commands', 'commands');
  const redis = { commands, jobs: connectTo('jobs', 'commands'), replyReader: connectTo('replies', 'blocking') };
  await Promise.all(Object.values(redis).map((each) => connectionReady(each)));
  await retryAtStart(() => checkRedis(commands, logger));
  const mongo = await connectMongo(mongoUrl, { name: 'leadscore-console', maxPoolSize });
  lifecycle.onStop('mongo', () => mongo.client.close());
  await checkKeySettings(mongo.database, config);
  await prepareDatabase(mongo.database);
  const installation = await retryAtStart(() => installationId(mongo.database));
  await retryAtStart(() => claimRedis(commands, installation));
  await retryAtStart(() => claimLease(commands, leaseMsOf(config)));
  await claimKeySettings(mongo.database, config, logger);
  return { ...redis, mongo };
}

const apiUrl = ({ baseUrl, port }: Config): string => baseUrl ?? `http://localhost:${port}`;
const isHttps = (url: string): boolean => url.startsWith('https:');

interface ContextDeps {
  readonly config: Config;
  readonly logger: Logger;
  readonly connections: Connections;
  readonly consoleUrl: string;
}

function adminContext({ config, logger, connections, consoleUrl }: ContextDeps): ConsoleContext {
  const { commands, mongo } = connections;
  return {
    ...{ client: mongo.client, database: mongo.database, consoleUrl },
    clock: machineClock(config.clockOffsetMs),
    apiUrl: apiUrl(config),
    leaseMs: leaseMsOf(config),
    redis: async () => commands,
    keySettings: async () => ({ brand: config.keyBrand, pepper: config.keyPepper }),
    notAnnounced: (error) => logger.warn({ error }, 'a change was not announced: processes see it within 5 seconds'),
  };
}

function sessionsOf({ config, logger, connections, consoleUrl }: ContextDeps): Sessions {
  const { commands, mongo } = connections;
  const clock = machineClock(config.clockOffsetMs);
  const addressOf = callerAddressBehind(config.trustedProxies);
  const newSlotId = callIdGenerator();
  return new Sessions({
    ...{ clock, addressOf, logger, isHttps: isHttps(consoleUrl) },
    access: new ConsoleAccess(mongo.database),
    members: new MemberStore(mongo.database),
    attempts: new AuthAttempts({ addressOf }),
    rateLimit: new RateLimit(commands, commandTimeoutMs),
    newRequestSlot: () => newSlotId(clock.now(), ''),
  });
}

/** Over plain HTTP a cookie could be read on the way, so only a browser on this machine may use it. */
function readConsoleConfig(): Config {
  const config = readConfig();
  const { protocol, hostname } = new URL(config.consoleUrl ?? 'http://localhost');
  if (protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)) return config;
  throw new ConfigError('CONSOLE_URL must begin with https://, except on this machine: cookies need an encrypted way');
}

const config = readSettings('console', readConsoleConfig);
const logger = createLogger(config.logLevel, 'console');
process.on('unhandledRejection', (error) => logger.error({ error }, 'unhandled rejection'));
start(config, logger).catch((error: unknown) => {
  logger.fatal({ error }, `the console could not start: ${messageOf(error)}`);
  process.exit(1);
});
