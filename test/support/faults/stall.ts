import { readdir, readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { eventually } from '../eventually.js';

/**
 * Freezes a process until SIGCONT. On Linux it waits until each thread has stopped: on a busy machine a server still
 * answers for a while after the signal.
 */
export async function freeze(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  if (process.platform !== 'linux') return;
  await eventually(async () => {
    for (const thread of await readdir(`/proc/${pid}/task`))
      expect(await readFile(`/proc/${pid}/task/${thread}/status`, 'utf8')).to.match(/^State:\tT/m);
  });
}

/** A Lua script that blocks Redis for 20 ms. No KEYS, no ARGV, returns nothing. */
export const busyScript = `
  local function now() local time = redis.call('TIME') return time[1] * 1000000 + time[2] end
  local began = now()
  repeat until now() > began + 20000`;
