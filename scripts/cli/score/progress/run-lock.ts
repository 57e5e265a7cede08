import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { CliError, codeOf } from '../../context/cli-error.js';
import type { Disk } from './disk.js';
import { namesIn, removeIfEmpty } from './progress-files.js';

const thisHost = encodeURIComponent(hostname());
const markName = /^run-(\d{1,10})-[\da-f-]{36}@(.+)$/;

/**
 * Takes the progress folder of an output for this run.
 *
 * The run marks the folder with a file of its own, and then looks for the marks of others. So of two runs at least one
 * sees the other. Marks of dead processes do not count.
 *
 * One lock file for all runs would be wrong when a dead process has left it. If two runs replace it, the slower one
 * would remove the new lock of the faster one. The name of a mark says all, because its content may not be written yet.
 * @returns a function that releases the folder, and removes it if it is empty
 * @throws CliError while another run has it
 */
export async function lockFolder(disk: Disk, folder: string, outputPath: string): Promise<() => Promise<void>> {
  const own = `run-${process.pid}-${randomUUID()}@${thisHost}`;
  await mark(disk, folder, own);
  const release = async (): Promise<void> => {
    // A mark that stays is that of an ended process. The error of the run says more than one of the same disk.
    await disk.remove(join(folder, own)).catch(() => undefined);
    await removeIfEmpty(folder);
  };
  for (const name of await namesIn(folder)) {
    const [, pid, host] = name === own ? [] : (markName.exec(name) ?? []);
    if (pid === undefined || host === undefined) continue;
    if (host === thisHost && !isOther(Number(pid))) {
      await disk.remove(join(folder, name));
      continue;
    }
    await release();
    throw inUse(outputPath, { pid, host, path: join(folder, name) });
  }
  return release;
}

/** A run that ends may remove the folder between the two steps. */
async function mark(disk: Disk, folder: string, name: string): Promise<void> {
  for (let attempts = 3; ; attempts -= 1) {
    await disk.makeFolder(folder);
    try {
      return await disk.append(join(folder, name), '');
    } catch (error) {
      const cause = error instanceof CliError ? error.cause : error;
      if (attempts === 1 || codeOf(cause) !== 'ENOENT') throw error;
    }
  }
}

/** Whether a process of this host lives and is not this one: a container may give each run the same number. */
function isOther(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

function inUse(
  outputPath: string,
  { pid, host, path }: { readonly pid: string; readonly host: string; readonly path: string },
): CliError {
  const where = host === thisHost ? '' : ` on ${host}`;
  return new CliError(
    `Another run writes ${outputPath}: process ${pid}${where}. Wait for its end, or name another output with --out. If that process is no longer such a run, remove ${path} and try again`,
    { code: 'output_in_use' },
  );
}
