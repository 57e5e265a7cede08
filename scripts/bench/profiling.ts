import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { projectFile } from '../../shared/project-root.js';
import { renderTable } from '../terminal/table.js';
import type { ProcessGroups } from './process-usage.js';
import { summariseProfile } from './profile-summary.js';

const functionsShown = 20;
const packagesShown = 10;

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

/** A table of the hottest functions of each profile. `profiles`: paths by title. */
export async function profileTables(profiles: ReadonlyMap<string, string>): Promise<string> {
  const tables: string[] = [];
  const percentOf = (share: number) => `${(100 * share).toFixed(1)} %`;
  for (const [title, path] of profiles) {
    const { functions, packages } = await summariseProfile(path);
    const table = renderTable(
      [{ name: title }, { name: 'where' }, { name: 'own time', align: 'right' }],
      functions.slice(0, functionsShown).map(({ name, place, share }) => [name, place, percentOf(share)]),
      { width: 110 },
    );
    const byPackage = packages
      .slice(0, packagesShown)
      .map(({ name, share }) => `${name} ${percentOf(share)}`);
    tables.push(`\n${table}\nBy package: ${byPackage.join(', ')}\n${path}\n`);
  }
  return tables.join('');
}
