import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { projectFile } from '../../shared/project-root.js';
import type { ProcessGroups } from './process-usage.js';

/** NODE_OPTIONS that make a process write a profile to a directory between two SIGUSR2; see profile-preload.ts. */
export function profilingOptions(directory: string): string {
  const preload = pathToFileURL(projectFile('dist/scripts/bench/profile-preload.js'));
  preload.searchParams.set('directory', directory);
  return `--import=${preload.href}`;
}

/** The processes that are profiled, by a name for each: the gateway, and the first child of the pool. */
export function profiledProcesses({
  gateway = [],
  workers = [],
}: ProcessGroups): ReadonlyMap<string, number> {
  const [gatewayPid, workerPid] = [gateway[0], workers[1]];
  if (gatewayPid === undefined || workerPid === undefined)
    throw new Error('there is no gateway or no worker to profile');
  return new Map([
    ['gateway', gatewayPid],
    ['worker', workerPid],
  ]);
}

/**
 * Gives the profiles of a run the names of what was running.
 * @param windows ids of the scenarios that were profiled, in order
 * @returns the files' paths by `<scenario> <process>`
 */
export async function nameProfiles(
  directory: string,
  of: { readonly windows: readonly string[]; readonly processes: ReadonlyMap<string, number> },
): Promise<ReadonlyMap<string, string>> {
  const written = new Set(await readdir(directory));
  const named = new Map<string, string>();
  for (const [index, window] of of.windows.entries()) {
    for (const [process, pid] of of.processes) {
      const raw = `${pid}-${index + 1}.cpuprofile`;
      if (!written.has(raw)) continue;
      const path = join(directory, `${window}-${process}.cpuprofile`);
      await rename(join(directory, raw), path);
      named.set(`${window} ${process}`, path);
    }
  }
  return named;
}
