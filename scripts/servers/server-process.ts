import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { projectFile } from '../../shared/process/project-root.js';
import type { ServerName } from '../setup/find-server.mjs';

/** A running server that this process started. */
export interface LocalServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly process: ChildProcess;
  /** SIGTERM, then waits; SIGKILL after 20 s. Idempotent. */
  stop(): Promise<void>;
}

export interface ServerKind {
  readonly program: string;
  readonly commandLine: (port: number) => string[];
  /** Receives everything that the server prints. Truncated at each start. */
  readonly logFile: string;
  /** Resolves with the server's URL once it answers. Retries until `signal` is aborted, when the server has died. */
  readonly ready: (server: { port: number; pid: number; signal: AbortSignal }) => Promise<string>;
}

const stopLimitMs = 20_000;
const pollMs = 50;
const maxPortAttempts = 5;
const portIsTaken = /address already in use/i;

// A shell that ends the server when this process dies in any way: its standard input is closed then.
const guardScript = `
  read -r line
  kill -CONT "$1"; kill -TERM "$1" || exit 0
  for second in 1 2 3 4 5 6 7 8 9 10; do sleep 1; kill -0 "$1" || exit 0; done
  kill -KILL "$1"`;

const runningPids = new Set<number>();

/**
 * Starts a server as a child and waits until it answers. The child has its own process group: Ctrl-C must not end it
 * before the caller has drained and called `stop`. When this process dies first, the server ends too.
 * @param fixedPort a free port when undefined
 * @throws Error with the end of the server's log when it does not start
 */
export async function startServer(kind: ServerKind, fixedPort: number | undefined): Promise<LocalServer> {
  for (let attempt = 1; ; attempt++) {
    const port = fixedPort ?? (await freePort());
    try {
      return await startOnPort(kind, port);
    } catch (error) {
      const mayRetry = fixedPort === undefined && attempt < maxPortAttempts;
      if (!mayRetry || !(error instanceof Error && portIsTaken.test(error.message))) throw error;
    }
  }
}

async function startOnPort(kind: ServerKind, port: number): Promise<LocalServer> {
  const log = openSync(kind.logFile, 'w', 0o600);
  const child = spawn(kind.program, kind.commandLine(port), { detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  const { pid } = child;
  if (pid === undefined) {
    const [error] = await once(child, 'error');
    throw error;
  }
  // Comes first: from here on the server cannot outlive this process.
  const stop = guard(child, pid);

  const died = new AbortController();
  const onExit = (): void => died.abort();
  child.once('exit', onExit);
  try {
    const url = await Promise.race([kind.ready({ port, pid, signal: died.signal }), deathOf(died.signal)]);
    return { url, port, pid, process: child, stop };
  } catch (cause) {
    await stop();
    const lines = (await readFile(kind.logFile, 'utf8')).trimEnd().split('\n').slice(-12).join('\n');
    throw new Error(`${kind.program} did not start on port ${port}. The end of ${kind.logFile}:\n${lines}`, {
      cause,
    });
  } finally {
    child.off('exit', onExit);
  }
}

/**
 * Waits for a starting server to end, for example because its port is taken.
 * @param signal aborted when the server ends
 * @throws Error always, once the server has ended
 */
export async function deathOf(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  throw new Error('the server ended while it was starting');
}

/** Ends the server when this process ends. Returns the function that ends it earlier. */
function guard(child: ChildProcess, pid: number): () => Promise<void> {
  const watcher = spawn('sh', ['-c', guardScript, 'sh', String(pid)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watcher.stdin.on('error', () => undefined); // EPIPE when the watcher ends first
  if (runningPids.size === 0) process.on('exit', endAllAtExit);
  runningPids.add(pid);
  child.once('exit', () => {
    watcher.kill('SIGKILL');
    runningPids.delete(pid);
    if (runningPids.size === 0) process.off('exit', endAllAtExit);
  });

  let stopped: Promise<void> | undefined;
  return () => {
    stopped ??= endChild(child, pid);
    return stopped;
  };
}

async function endChild(child: ChildProcess, pid: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  terminate(pid);
  const killer = setTimeout(() => child.kill('SIGKILL'), stopLimitMs);
  await exit;
  clearTimeout(killer);
}

function endAllAtExit(): void {
  for (const pid of runningPids) terminate(pid);
}

/** Sends SIGTERM, then SIGCONT: a process stopped by SIGSTOP would not handle the first one. */
function terminate(pid: number): void {
  signal(pid, 'SIGTERM');
  signal(pid, 'SIGCONT');
}

/** Sends a signal to a process; does nothing when the process has ended. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/**
 * Whether a process runs and its command line names a data directory. The process id alone proves nothing: systems
 * reuse ids.
 */
export async function isRunningOn({ pid, directory }: { pid: number; directory: string }): Promise<boolean> {
  try {
    return (await commandLineOf(pid)).includes(`${directory}/`);
  } catch {
    return false;
  }
}

/** Linux has /proc but perhaps no `ps`; macOS has `ps` but no /proc. */
async function commandLineOf(pid: number): Promise<string> {
  if (process.platform === 'linux') return readFile(`/proc/${pid}/cmdline`, 'utf8');
  const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', 'args=', '-p', String(pid)]);
  return stdout;
}

/**
 * Ends a server that another process started: SIGTERM, then SIGKILL after 20 s. Does nothing when it is not running.
 */
export async function endServer({ pid, directory }: { pid: number; directory: string }): Promise<void> {
  if (!(await isRunningOn({ pid, directory }))) return;
  terminate(pid);
  const killAtMs = Date.now() + stopLimitMs;
  while (await isRunningOn({ pid, directory })) {
    if (Date.now() > killAtMs) signal(pid, 'SIGKILL');
    await pause(pollMs);
  }
}

/** Whether a process with this id exists and this process may signal it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

// `find-server.mjs` also runs before the first build, so it is not in dist/ and is loaded from the project's root.
async function findProgram(server: ServerName): Promise<string> {
  const lookUpFile = projectFile('scripts/setup/find-server.mjs');
  const { findServer, servers }: typeof import('../setup/find-server.mjs') = await import(
    pathToFileURL(lookUpFile).href
  );
  const { found, rejected } = await findServer({ server, root: projectFile('.') });
  if (found !== undefined) return found.path;
  const { program, minMajor } = servers[server];
  const reasons = rejected.length > 0 ? ` (${rejected.join('; ')})` : '';
  throw new Error(`${program} ${minMajor} or later was not found${reasons}. Run "npm run setup".`);
}

/**
 * The absolute path of a `redis-server`, searched on PATH, in the folders of package managers, and in `.local/bin`.
 * @throws Error when none of version 7 or later is found
 */
export async function findRedisServer(): Promise<string> {
  return findProgram('redis');
}

/**
 * The absolute path of a `mongod`, searched in the same folders.
 * @throws Error when none of version 6 or later is found
 */
export async function findMongod(): Promise<string> {
  return findProgram('mongo');
}

/**
 * A TCP port that is free on loopback now. Another process may take it before the caller does, so the caller must retry
 * with another port.
 */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('the system assigned no TCP port');
  return address.port;
}

/** Whether a process accepts TCP connections on a port of loopback. */
export async function acceptsConnections(port: number): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
