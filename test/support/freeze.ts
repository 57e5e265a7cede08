import { readdir, readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { eventually } from './eventually.js';

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
