import { mkdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { SetupProblem } from './step.mjs';

const waitLimitMs = 10 * 60_000;
const pollMs = 100;

/**
 * Runs `work` while no other set-up of the same folder runs. Waits for the lock.
 * @param {string} localFolder the project's `.local` folder, created when missing
 * @param {() => Promise<void>} work
 * @throws SetupProblem when another set-up takes longer than ten minutes
 */
export async function withLock(localFolder, work) {
  await mkdir(localFolder, { recursive: true });
  // A link to the holder's process id never exists without that id. A file would, before its first write.
  const lock = join(localFolder, 'setup-lock');
  await acquire(lock);
  const release = () => rm(lock, { force: true });
  const interrupted = () => release().then(() => process.exit(130));
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  try {
    await work();
  } finally {
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
    await release();
  }
}

async function acquire(lock) {
  const create = () => symlink(String(process.pid), lock).then(() => true, unless('EEXIST'));
  for (let waitedMs = 0; !(await create()); ) {
    const holder = await readlink(lock).catch(unless('ENOENT'));
    if (holder === undefined) continue;
    if (!isAlive(Number(holder))) {
      await removeStale(lock, holder);
      continue;
    }
    if (waitedMs === 0) console.error(`  waiting for another set-up to finish (process ${holder})`);
    if (waitedMs > waitLimitMs)
      throw new SetupProblem(
        `Process ${holder} has held ${lock} for ten minutes. If it is not a set-up, remove that link.`,
      );
    await pause(pollMs);
    waitedMs += pollMs;
  }
}

/** Removes the lock of a killed set-up, unless another set-up has replaced it meanwhile. */
async function removeStale(lock, holder) {
  const aside = `${lock}.${process.pid}`;
  await rename(lock, aside).catch(unless('ENOENT'));
  const found = await readlink(aside).catch(unless('ENOENT'));
  if (found === holder) await rm(aside);
  else if (found !== undefined) await rename(aside, lock);
}

/** Handles an error of a file by its code: the result is undefined. */
const unless = (code) => (error) => {
  if (error.code !== code) throw error;
};

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}
