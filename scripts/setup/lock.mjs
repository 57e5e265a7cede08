import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { SetupProblem } from './step.mjs';

const WAIT_LIMIT_MS = 10 * 60_000;
const LOOK_AGAIN_MS = 100;

/**
 * Does something while no other set-up of the same folder does; waits for its turn.
 * @param {string} localFolder the project's `.local` folder, made when missing
 * @param {() => Promise<void>} work
 * @throws SetupProblem when another set-up takes longer than ten minutes
 */
export async function alone(localFolder, work) {
  await mkdir(localFolder, { recursive: true });
  const lockFile = join(localFolder, 'setup.lock');
  await take(lockFile);
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

async function take(lockFile) {
  const giveUpAtMs = Date.now() + WAIT_LIMIT_MS;
  let told = false;
  while (!(await create(lockFile))) {
    const holder = await readHolder(lockFile);
    if (holder === undefined) continue;
    if (!isAlive(holder)) await removeStale(lockFile, holder);
    else if (Date.now() > giveUpAtMs) {
      throw new SetupProblem(
        `Process ${holder} holds ${lockFile} for too long. If it is no set-up, remove that file.`,
      );
    } else {
      if (!told) console.error(`  waiting for another set-up to finish (process ${holder})`);
      told = true;
      await pause(LOOK_AGAIN_MS);
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

/** The process that holds the lock, or undefined when the lock was released or is being written just now. */
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

/** Removes the lock of a set-up that was killed, unless another set-up has replaced it in between. */
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
