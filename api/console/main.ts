import type { RequestListener } from 'node:http';
import { actionRoutes, route } from '../../shared/admin/actions.js';
import { type Config, ConfigError, readConfig } from '../../shared/config/config.js';
import { dayMs, machineClock } from '../../shared/contract/dates.js';
import { messageOf } from '../../shared/contract/errors.js';
import { callIdGenerator } from '../../shared/contract/identifiers.js';
import { openTurnQueue, turnQueues } from '../../shared/messages/turn-queue.js';
import { ClockWatch } from '../../shared/process/clock-watch.js';
import { Lifecycle, readSettings } from '../../shared/process/lifecycle.js';
import { createLogger, type Logger } from '../../shared/process/logger.js';
import { ProcessNotes } from '../../shared/process/process-notes.js';
import { projectFile } from '../../shared/process/project-root.js';
import { leaseMsOf } from '../../shared/quota/leases.js';
import { RedisHealth } from '../../shared/redis/health.js';
import { ProcessRegister } from '../../shared/redis/process-register.js';
import type { Db } from '../../shared/store/connection/connect.js';
import { ConsoleAccess } from '../../shared/store/console/console-access.js';
import { MemberStore } from '../../shared/store/console/members.js';
import { admissionCaches } from '../admission/caches.js';
import { AuthAttempts } from '../auth/auth-attempts.js';
import { callerAddressBehind } from '../auth/client-ip.js';
import { checkKeySettings, claimKeySettings } from '../auth/key-settings.js';
import { type Connections, commandTimeoutMs, connect, type ScoringProcess } from '../connections.js';
import { startServer } from '../http/server.js';
import { UnusedBytes } from '../http/unused-bytes.js';
import { RateLimit } from '../request/rate-limit.js';
import { jobDeps } from '../routes/jobs/job-routes.js';
import { type ScoringServices, startScoring } from '../services.js';
import { createConsoleApp } from './app.js';
import { OidcClient } from './http/oidc-client.js';
import { Sessions } from './http/sessions.js';
import type { ConsoleJobs } from './jobs/console-jobs.js';
import { jobRoutes } from './jobs/job-actions.js';
import { outcomeFiles } from './outcome-files.js';
import { playgroundAction } from './playground.js';
import type { ConsoleContext } from './routes/action-routes.js';

/*
 * The console: pages and an API for an organisation's people and for the operator. A process of its own, because port,
 * origin and event loop of a gateway belong to its callers.
 */

const maxUploadMs = 5 * 60_000;

interface Console extends ScoringProcess {
  readonly config: Config;
}

async function start(config: Config, logger: Logger): Promise<void> {
  const lifecycle = new Lifecycle(logger);
  const clock = machineClock(config.clockOffsetMs);
  const checkDatabase = (database: Db) => checkKeySettings(database, config);
  const owner: Console = { name: 'console', config, logger, lifecycle, clock, checkDatabase };
  const connections = await connect(owner);
  const { commands, jobs, mongo } = connections;
  await claimKeySettings({ database: mongo.database, redis: commands, config, logger });
  const health = lifecycle.add(new RedisHealth(commands, { ...config.timings.redis, outage: logger.outages.Redis }));
  // Without a periodic PING a half-open connection would go unnoticed until its next use.
  lifecycle.add(new RedisHealth(jobs, { ...config.timings.redis, outage: logger.outages.Redis }));
  const watch = lifecycle.add(new ClockWatch(commands, logger));
  lifecycle.add(new ProcessNotes({ kind: 'console', redis: commands, config, clock: watch }));
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
  const admin = adminContext(owner, connections, consoleUrl);
  // A change is seen at once. The fields of test calls are not summed up.
  const scoring = await startScoring(owner, connections, { caches: undefined, sumsFieldDays: false });
  const consoleJobs = jobsOf(owner, connections, scoring);
  const app = createConsoleApp({
    ...{ admin, consoleUrl, logger, bodyTimeoutMs, unused, readiness: async () => health.problem },
    sessions: sessionsOf(owner, connections, consoleUrl),
    isHttps: isHttps(consoleUrl),
    oidc: config.oidc && new OidcClient(config.oidc, `${consoleUrl}/admin/v1/session/oidc/callback`),
    routes: [
      ...actionRoutes,
      route('post', '/orgs/:org_id/playground', playgroundAction(owner, connections, scoring)),
      ...jobRoutes(consoleJobs),
    ],
    jobs: consoleJobs,
    outcomeFiles: outcomeFiles(owner, connections),
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

const apiUrl = ({ baseUrl, port }: Config): string => baseUrl ?? `http://localhost:${port}`;
const isHttps = (url: string): boolean => url.startsWith('https:');

function adminContext(
  { config, logger, clock }: Console,
  { commands, mongo }: Connections,
  consoleUrl: string,
): ConsoleContext {
  return {
    ...{ client: mongo.client, database: mongo.database, consoleUrl, clock },
    apiUrl: apiUrl(config),
    leaseMs: leaseMsOf(config),
    auditsReads: config.auditsReads,
    redis: async () => commands,
    keySettings: async () => ({
      brand: config.keyBrand,
      pepper: config.keyPepper,
      previousPepper: config.keyPepperPrevious,
    }),
    notAnnounced: (error) => logger.warn({ error }, 'a change was not announced: processes see it within 5 seconds'),
  };
}

function sessionsOf(owner: Console, { commands, mongo }: Connections, consoleUrl: string): Sessions {
  const { config, logger, clock } = owner;
  const addressOf = callerAddressBehind(config.trustedProxies);
  const newSlotId = callIdGenerator();
  return new Sessions({
    ...{ clock, addressOf, logger, isHttps: isHttps(consoleUrl) },
    access: new ConsoleAccess(mongo.database),
    members: new MemberStore(mongo.database),
    attempts: new AuthAttempts({ addressOf }),
    rateLimit: new RateLimit(commands, commandTimeoutMs(owner)),
    newRequestSlot: () => newSlotId(clock.now(), ''),
  });
}

/** Transfers of files take connections to MongoDB, of which pages need some. */
const transfers = {
  uploads: { inTotal: 4, perOrganisation: 2 },
  downloads: { inTotal: 8, perOrganisation: 4 },
} as const;

function jobsOf(owner: Console, { commands, jobs, mongo }: Connections, scoring: ScoringServices): ConsoleJobs {
  const { config, clock, logger, lifecycle } = owner;
  const { database } = mongo;
  const caches = () => admissionCaches({ database, clock, logger });
  return {
    ...jobDeps({
      ...{ database, clock, logger, transfers, bodyTimeoutMs: config.bodyTimeoutMs },
      metering: scoring.metering,
      verdicts: { of: (model) => caches().verdicts.of(model) },
      waiting: lifecycle.add(openTurnQueue({ queue: turnQueues.reading, commands: jobs, logger })),
      processes: new ProcessRegister(commands),
      retentionMs: config.jobRetentionDays * dayMs,
    }),
    ...{ caches, admission: scoring.admission, newCallId: callIdGenerator(), timeoutMs: config.requestTimeoutMs },
  };
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
