import { type ChildProcess, fork } from 'node:child_process';
import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { childEnvironment } from '../../shared/config/config.js';
import { messageOf } from '../../shared/contract/errors.js';
import { projectFile } from '../../shared/process/project-root.js';

/** A gateway, a worker pool, a console or a runner of bulk jobs as a separate process. */
export interface ServiceProcess {
  readonly pid: number;
  readonly process: ChildProcess;
  /** The address of a gateway or a console; undefined for the others. */
  readonly url: string | undefined;
  /** Resolves with the signal or exit code. */
  readonly ended: Promise<string>;
  /** SIGTERM, then waits; SIGKILL after 35 s. */
  stop(): Promise<void>;
}

export type ServiceKind = 'gateway' | 'worker' | 'console' | 'bulk';

/** This process's own output, nothing, or a file descriptor. */
export type ServiceLog = 'inherit' | 'ignore' | number;

export interface ServiceOptions {
  readonly kind: ServiceKind;
  /** Folder of another built release of this project, whose program runs instead. */
  readonly root?: string | undefined;
  /** Another program instead, from the project's root, and its arguments. */
  readonly program?: readonly [file: string, ...args: string[]];
  /** Changes to this process's environment. */
  readonly environment: Settings;
  readonly log: ServiceLog;
  /** Further options of Node, also of the processes that a pool starts. */
  readonly nodeOptions?: readonly string[] | undefined;
}

/** Settings of a process by environment variable; undefined removes one. */
export type Settings = Readonly<Record<string, string | undefined>>;

/** A service that a program starts for itself keeps the defaults of these, whatever the program's environment says. */
export const notInherited: Settings = Object.fromEntries(
  [
    ...['HOST', 'BASE_URL', 'DOCS_URL', 'KEY_BRAND', 'REQUEST_TIMEOUT_MS', 'WEBHOOK_TIMEOUT_MS', 'BODY_TIMEOUT_MS'],
    ...['MAX_BODY_BYTES', 'LEGACY_ALIASES', 'RETENTION_DAYS', 'JOB_RETENTION_DAYS', 'TRUSTED_PROXIES'],
    ...['AUDIT_RETENTION_DAYS', 'AUDIT_READS'],
    ...['LANES', 'BULK_WORKERS', 'CLOCK_OFFSET_MS', 'TEST_TIMINGS_PERCENT'],
  ].map((name) => [name, undefined]),
);

/** Settings of a service that a program starts for itself: free ports, two workers, and the defaults of all others. */
export const ownSettings = (keyPepper: string): Settings => ({
  ...notInherited,
  ...{ PORT: '0', ADMIN_PORT: '0', WORKER_ADMIN_PORT: '0', BULK_ADMIN_PORT: '0', CONSOLE_PORT: '0' },
  ...{ WORKERS: '2', LOWER_PRIORITY: undefined, LOG_LEVEL: 'warn', KEY_PEPPER: keyPepper },
});

const entryFiles = {
  gateway: 'dist/api/main.js',
  worker: 'dist/worker/main.js',
  console: 'dist/api/console/main.js',
  bulk: 'dist/api/bulk/main.js',
} as const;
/**
 * Options of Node in each start command. Without them, V8 keeps more room for young objects: a runner in a job then
 * takes 390 MB instead of 282, at the same speed.
 */
export const startOptions: Readonly<Partial<Record<ServiceKind, readonly string[]>>> = {
  gateway: ['--max-semi-space-size=16'],
  bulk: ['--max-semi-space-size=16'],
};
const quietStopMs = 35_000;
const readyLimitMs = 60_000;

/**
 * Starts one of these processes, and waits until it reports that it is ready.
 * @throws Error when it ends first, or is not ready in time and was killed
 */
export async function startService(options: ServiceOptions): Promise<ServiceProcess> {
  const { kind, environment, log, root = projectFile('.'), nodeOptions = [] } = options;
  const [file, ...args] = options.program ?? [entryFiles[kind]];
  const child = fork(join(root, file), args, {
    env: childEnvironment({
      ...environment,
      ...(kind === 'worker' || kind === 'bulk' ? { KEY_PEPPER: undefined, KEY_PEPPER_PREVIOUS: undefined } : {}),
    }),
    stdio: ['ignore', log, log === 'ignore' ? 'ignore' : log, 'ipc'],
    execArgv: ['--enable-source-maps', ...(startOptions[kind] ?? []), ...nodeOptions],
  });
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  const url = await readyUrl(child, kind, ended);
  if (child.pid === undefined) throw new Error(`the ${kind} has no process id`);
  return { pid: child.pid, process: child, url, ended, stop: () => stopProcess(child, ended) };
}

async function readyUrl(child: ChildProcess, kind: string, ended: Promise<string>): Promise<string | undefined> {
  const ready = new Promise<string | undefined>((resolve) => {
    child.on('message', (message) => {
      if (typeof message !== 'object' || message === null || !('kind' in message) || message.kind !== 'ready') return;
      resolve('url' in message && typeof message.url === 'string' ? message.url : undefined);
    });
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`the ${kind} was not ready within ${readyLimitMs / 1000} s`)),
      readyLimitMs,
    );
  });
  const early = ended.then((how) => {
    throw new Error(`the ${kind} ended before it was ready (${how}). See its log.`);
  });
  early.catch(() => undefined);
  try {
    return await Promise.race([ready, late, early]);
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function stopProcess(child: ChildProcess, ended: Promise<string>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const force = setTimeout(() => child.kill('SIGKILL'), quietStopMs);
  await ended;
  clearTimeout(force);
}

/** Kills a part if this process exits before it. A frozen part would otherwise outlive this process. */
export function endWithThisProcess(part: ServiceProcess): void {
  const kill = (): void => {
    part.process.kill('SIGKILL');
  };
  process.on('exit', kill);
  void part.ended.then(() => process.off('exit', kill));
}

/** The file to which all processes of a service log. */
export interface SharedLog {
  readonly file: string;
  readonly descriptor: number;
}

/**
 * Starts a process of a service, which ends with this one.
 * @param root folder of another built release, whose program runs instead
 * @throws Error with the fatal line of the log if it does not become ready
 */
export async function startPart(
  kind: ServiceKind,
  environment: Settings,
  { file, descriptor }: SharedLog,
  root?: string,
): Promise<ServiceProcess> {
  const loggedBefore = statSync(file).size;
  try {
    const part = await startService({ kind, environment, log: descriptor, root });
    endWithThisProcess(part);
    return part;
  } catch (cause) {
    const lines = (await readFile(file)).subarray(loggedBefore).toString('utf8').split('\n');
    const last = lines.findLast((line) => line.includes('"level":"fatal"'));
    throw new Error(`${messageOf(cause)}${last === undefined ? '' : `; ${last}`}`, { cause });
  }
}
