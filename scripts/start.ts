import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { noPepper, readOperatorConfig } from '../shared/config/config.js';
import { messageOf } from '../shared/contract/errors.js';
import { Lifecycle, readSettings } from '../shared/process/lifecycle.js';
import { createLogger } from '../shared/process/logger.js';
import { projectFile } from '../shared/process/project-root.js';
import { migrateFirst } from './servers/migrate-first.js';
import { type PrivateServers, privateServers, settingsFile } from './servers/private-servers.js';
import { startStack } from './servers/stack.js';

/*
 * `npm start`: a gateway, a worker pool, a console and a runner of bulk jobs under one parent. Without REDIS_URL and
 * MONGODB_URL it also runs private servers on free loopback ports. Their data stays in .local/data between runs.
 */

const config = readSettings('start', () => readOperatorConfig(undefined, availableParallelism()));
const logger = createLogger(config.logLevel, 'start');
const lifecycle = new Lifecycle(logger, 45_000);

const noSupervisor =
  'npm start is no supervisor: when one of its processes ends, it stops all of them and starts none again. For ' +
  'production see docs/operating.md, By systemd';

/** `ended` resolves when a private server ends. */
async function databases(): Promise<Omit<PrivateServers, 'stop'>> {
  const { redisUrl, mongoUrl, keyPepper } = config;
  if (redisUrl !== undefined && mongoUrl !== undefined) {
    if (keyPepper === undefined) throw new Error(noPepper);
    return { redisUrl, mongoUrl, keyPepper, ended: new Promise(() => undefined) };
  }
  if (redisUrl !== undefined || mongoUrl !== undefined) {
    throw new Error('set both REDIS_URL and MONGODB_URL, or neither to run private servers');
  }
  if (!existsSync(projectFile('tsconfig.json'))) {
    throw new Error('set REDIS_URL and MONGODB_URL: npm would remove the data of private servers with this package');
  }
  const directory = projectFile('.local/data');
  const servers = await privateServers({ directory, keep: true, keyPepper });
  lifecycle.onStop('private servers', () => servers.stop());
  const { redisUrl: redis, mongoUrl: mongo } = servers;
  const joining = { redisUrl: redis, mongoUrl: mongo, settings: settingsFile(directory) };
  logger.info(joining, 'private servers ready; more gateways and pools join with the settings of this file');
  return servers;
}

async function start(): Promise<void> {
  lifecycle.listenForSignals();
  logger.info(noSupervisor);
  const servers = await databases();
  const { redisUrl, mongoUrl, keyPepper } = servers;
  await migrateFirst(mongoUrl, logger);
  const starting = startStack({
    redisUrl,
    mongoUrl,
    withConsole: true,
    withRunner: true,
    environment: { KEY_PEPPER: keyPepper },
  });
  // Stops before the servers, also when the signal comes during the start.
  lifecycle.onStop('gateway, pool, console and runner', () =>
    starting.then(
      (stack) => stack.stop(),
      () => undefined,
    ),
  );
  const serverEnded = servers.ended.then((how) => {
    throw new Error(how);
  });
  const stack = await Promise.race([starting, serverEnded]);
  logger.info({ url: stack.url, console: stack.consoleUrl }, 'ready');
  const how = await Promise.race([stack.ended, servers.ended]);
  if (lifecycle.isStopping) return;
  logger.fatal(how);
  await lifecycle.stop();
  // Repeated as the last line: the other processes have logged meanwhile.
  logger.fatal(`stopped, because ${how}`);
  process.exit(1);
}

start().catch(async (error: unknown) => {
  logger.fatal({ error }, `could not start: ${messageOf(error)}`);
  await lifecycle.stop();
  process.exit(1);
});
