import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
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
  const lockFile = join(localFolder, 'setup.lock');
  await acquire(lockFile);
  const release = () => rm(lockFile, { force: true });
  const interrupted = () => release().then(() => process.exit(130));
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted);
  try {
    await work();
  } finally {
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted);
    await release();
  }
}

async function acquire(lockFile) {
  const giveUpAtMs = Date.now() + waitLimitMs;
  let hasSaid = false;
  while (!(await create(lockFile))) {
    const holder = await readHolder(lockFile);
    if (holder === undefined) continue;
    if (!isAlive(holder)) await removeStale(lockFile, holder);
    else if (Date.now() > giveUpAtMs) {
      throw new SetupProblem(
        `Process ${holder} has held ${lockFile} for ten minutes. If it is not a set-up, remove that file.`,
      );
    } else {
      if (!hasSaid) console.error(`  waiting for another set-up to finish (process ${holder})`);
      hasSaid = true;
      await pause(pollMs);
    }
  }
}

async function create(lockFile) {
  try {
    await writeFile(lockFile, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

/** The process that holds the lock; undefined when it was released or is being written. */
async function readHolder(lockFile) {
  try {
    return Number.parseInt(await readFile(lockFile, 'utf8'), 10) || undefined;
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Removes the lock of a killed set-up, unless another set-up has replaced it meanwhile. */
async function removeStale(lockFile, holder) {
  const aside = `${lockFile}.${process.pid}`;
  try {
    await rename(lockFile, aside);
  } catch (error) {
    if (error.code === 'ENOENT') return;
    throw error;
  }
  if ((await readHolder(aside)) === holder) await rm(aside);
  else await rename(aside, lockFile);
}
