import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { watch } from 'node:fs';
import { readOperatorConfig } from '../../shared/config/config.js';
import { messageOf } from '../../shared/contract/errors.js';
import { Lifecycle, readSettings } from '../../shared/process/lifecycle.js';
import { createLogger } from '../../shared/process/logger.js';
import { projectFile } from '../../shared/process/project-root.js';
import { migrateFirst } from '../servers/migrate-first.js';
import { type PrivateServers, privateServers } from '../servers/private-servers.js';
import { signal } from '../servers/server-process.js';
import { type Stack, startStack } from '../servers/stack.js';

/*
 * `npm run dev`: a gateway and a worker pool on private servers, with the data of `npm start`. tsc compiles the sources
 * when they change. Both processes start again when a file that they run has changed.
 */

const config = readSettings('dev', () => readOperatorConfig());
const logger = createLogger(config.logLevel, 'dev');
const lifecycle = new Lifecycle(logger, 45_000);

/** Compiled modules, and the Lua scripts, which are read from the sources. */
const watched = { 'dist/api': '.js', 'dist/shared': '.js', 'dist/worker': '.js', api: '.lua', shared: '.lua' };
const quietMs = 300; // a compilation writes all its files within this time

const changes = new EventEmitter();
/** A file that has changed since the last start. */
let changedFile: string | undefined;
let starting: Promise<Stack | undefined> | undefined;

/** Starts `tsc --watch`. Resolves after its first run, which may have found type errors. */
async function startCompiler(): Promise<void> {
  const compiler = projectFile('node_modules/typescript/bin/tsc');
  // Not incremental: it would keep the bundled programs of the last set-up, which do not load the changed modules.
  const options = ['--watch', '--preserveWatchOutput'];
  const child = spawn(process.execPath, [compiler, '-p', '.', ...options], {
    cwd: projectFile('.'),
    stdio: ['ignore', 'pipe', 'inherit'], // when this process was killed, the compiler ends at its next line
    detached: true, // the compiler is a child of `tsc`: a signal to `tsc` alone would leave it behind
  });
  const ended = once(child.stdout, 'close');
  lifecycle.onStop('compiler', async () => {
    if (child.pid !== undefined) signal(-child.pid, 'SIGTERM');
    await ended;
  });
  child.stdout.pipe(process.stderr);
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (text) => {
      if (String(text).includes('Watching for file changes')) resolve();
    });
    void ended.then(() => reject(new Error('the compiler ended')));
  });
}

function watchFiles(): void {
  let timer: NodeJS.Timeout | undefined;
  for (const [folder, extension] of Object.entries(watched))
    watch(projectFile(folder), { recursive: true }, (_, name) => {
      if (!name?.endsWith(extension)) return;
      clearTimeout(timer);
      timer = setTimeout(() => {
        changedFile = `${folder}/${name}`;
        changes.emit('change');
      }, quietMs);
    });
}

/** Logs a process that does not start or ends by itself: the next change may repair it. */
async function startProcesses({ redisUrl, mongoUrl, keyPepper }: PrivateServers): Promise<Stack | undefined> {
  const goOn = (why: string): void => {
    if (changedFile === undefined && !lifecycle.isStopping) logger.error({ why }, 'not running until the next change');
  };
  try {
    const stack = await startStack({ redisUrl, mongoUrl, environment: { KEY_PEPPER: keyPepper } });
    void stack.ended.then(goOn);
    logger.info({ url: stack.url }, 'ready');
    return stack;
  } catch (error) {
    goOn(messageOf(error));
    return undefined;
  }
}

async function runProcesses(servers: PrivateServers): Promise<void> {
  for (;;) {
    changedFile = undefined;
    starting = startProcesses(servers);
    const stack = await starting;
    if (changedFile === undefined) await once(changes, 'change');
    if (lifecycle.isStopping) return;
    logger.info({ file: changedFile }, 'file changed, gateway and pool start again');
    await stack?.stop();
  }
}

async function develop(): Promise<void> {
  lifecycle.listenForSignals();
  await startCompiler();
  const { keyPepper } = config;
  const servers = await privateServers({ directory: projectFile('.local/data'), keep: true, keyPepper });
  lifecycle.onStop('private servers', () => servers.stop());
  await migrateFirst(servers.mongoUrl, logger);
  lifecycle.onStop('gateway and pool', async () => (await starting)?.stop());
  watchFiles();
  const serverEnded = servers.ended.then((how) => {
    if (!lifecycle.isStopping) throw new Error(how);
  });
  await Promise.race([runProcesses(servers), serverEnded]);
}

develop().catch(async (error: unknown) => {
  if (lifecycle.isStopping) return;
  logger.fatal(messageOf(error));
  await lifecycle.stop();
  process.exit(1);
});
