import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { freePort } from './loopback-port.js';

/** A server that this process started and that answers. */
export interface LocalServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly process: ChildProcess;
  /** Asks the server to end, waits until it has, and kills it when it takes longer than 20 s. Idempotent. */
  stop(): Promise<void>;
}

/** How to run one kind of server. */
export interface ServerKind {
  readonly program: string;
  /** The command line for a port. */
  readonly commandLine: (port: number) => string[];
  /** Where everything that the server prints goes; emptied at each start. */
  readonly logFile: string;
  /** Resolves with the server's URL once it does its work; retries by itself until `signal` says that it died. */
  readonly ready: (server: { port: number; pid: number; signal: AbortSignal }) => Promise<string>;
}

const STOP_LIMIT_MS = 20_000;
const ATTEMPTS_AT_A_FREE_PORT = 5;
const PORT_IS_TAKEN = /address already in use/i;

// A shell that waits for this process to be gone (its standard input then ends), however it went, and ends the server.
const GUARD_SCRIPT = `
  read -r line
  kill -CONT "$1"; kill -TERM "$1" || exit 0
  for second in 1 2 3 4 5 6 7 8 9 10; do sleep 1; kill -0 "$1" || exit 0; done
  kill -KILL "$1"`;

const runningPids = new Set<number>();

/**
 * Starts a server as a child and waits until it answers. The child has its own process group, so that Ctrl-C reaches
 * it only through `stop`, after the caller has drained; it is ended when this process goes away without that.
 * @param kind how to run it
 * @param fixedPort the port to listen on; a free one when undefined
 * @throws Error with the end of the server's log when it does not come up
 */
export async function startServer(kind: ServerKind, fixedPort: number | undefined): Promise<LocalServer> {
  for (let attempt = 1; ; attempt++) {
    const port = fixedPort ?? (await freePort());
    try {
      return await startOnPort(kind, port);
    } catch (error) {
      const mayRetry = fixedPort === undefined && attempt < ATTEMPTS_AT_A_FREE_PORT;
      if (!mayRetry || !(error instanceof Error && PORT_IS_TAKEN.test(error.message))) throw error;
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
  // Before anything else happens: from here on it does not outlive this process.
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
 * Waits for the end of a server that is not up yet, as one does that finds its port taken.
 * @param signal aborted when the server ends
 * @throws Error always, once it has ended
 */
export async function deathOf(signal: AbortSignal): Promise<never> {
  if (!signal.aborted) await once(signal, 'abort');
  throw new Error('the server ended while it was starting');
}

/** Makes sure that the server ends with this process, and gives the function that ends it before. */
function guard(child: ChildProcess, pid: number): () => Promise<void> {
  const watcher = spawn('sh', ['-c', GUARD_SCRIPT, 'sh', String(pid)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watcher.stdin.on('error', () => undefined); // the watcher may be gone before its end of the pipe is closed
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
  askToEnd(pid);
  const killer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
  await exit;
  clearTimeout(killer);
}

function endAllAtExit(): void {
  for (const pid of runningPids) askToEnd(pid);
}

/**
 * Asks a server to end in good order, also one that was stopped with SIGSTOP.
 * @param pid its process id
 */
export function askToEnd(pid: number): void {
  signal(pid, 'SIGTERM');
  signal(pid, 'SIGCONT');
}

/**
 * Sends a signal to a process; does nothing when it is gone already.
 * @param pid its process id
 * @param name the signal
 */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
