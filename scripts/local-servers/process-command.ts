import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { askToEnd, signal } from './server-process.js';

const LOOK_AGAIN_MS = 50;
const ORDERLY_LIMIT_MS = 20_000;

/**
 * Whether a process is alive and is a server on a data directory, by its command line: its number alone proves
 * nothing, since systems give the numbers of ended processes to new ones.
 * @param server the process id, and the directory that the command line must name
 */
export async function isRunningOn({ pid, directory }: { pid: number; directory: string }): Promise<boolean> {
  try {
    return (await commandLineOf(pid)).includes(`${directory}/`);
  } catch {
    return false;
  }
}

/** Linux tells it in /proc, and may have no `ps`; elsewhere it is the other way round. */
async function commandLineOf(pid: number): Promise<string> {
  if (process.platform === 'linux') return readFile(`/proc/${pid}/cmdline`, 'utf8');
  const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', 'args=', '-p', String(pid)]);
  return stdout;
}

/**
 * Ends a server that another process started, and waits until it is gone; kills it when that takes longer than 20 s.
 * Does nothing when it is not running.
 * @param server the process id, and the data directory that its command line must name
 */
export async function endServer({ pid, directory }: { pid: number; directory: string }): Promise<void> {
  if (!(await isRunningOn({ pid, directory }))) return;
  askToEnd(pid);
  const killAtMs = Date.now() + ORDERLY_LIMIT_MS;
  while (await isRunningOn({ pid, directory })) {
    if (Date.now() > killAtMs) signal(pid, 'SIGKILL');
    await pause(LOOK_AGAIN_MS);
  }
}

/** Whether there is a process with this id that this one may signal. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
