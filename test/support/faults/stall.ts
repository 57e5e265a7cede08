import { readdir, readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { eventually } from '../eventually.js';

/**
 * Stops a process in its tracks, until it gets SIGCONT. Waits until each of its threads has stopped: on a busy machine the
 * signal takes its time, and a server goes on answering. Only Linux tells; elsewhere it is taken to have stopped at once.
 */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  if (process.platform !== 'linux') return;
  await eventually(async () => {
    for (const thread of await readdir(`/proc/${pid}/task`))
      expect(await readFile(`/proc/${pid}/task/${thread}/status`, 'utf8')).to.match(/^State:\tT/m);
  });
}

/** A Lua script that keeps Redis busy for twenty milliseconds. KEYS and ARGV: none; returns nothing. */
export const busyScript = `
  local function now() local time = redis.call('TIME') return time[1] * 1000000 + time[2] end
  local began = now()
  repeat until now() > began + 20000`;
