import { readdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, unwritable } from '../../context/cli-error.js';
import type { Disk } from './disk.js';

/** The folder beside the output that holds the progress of a run until the run is complete. */
export const progressFolder = (outputPath: string): string => `${outputPath}.resume`;

/** The state file of the first version of this command. */
export const oldStatePath = (outputPath: string): string => `${outputPath}.resume.json`;

export const journalPath = (folder: string): string => join(folder, 'journal.jsonl');

/** Results that are not yet in the output. */
export const poolPath = (folder: string, generation: number): string => join(folder, `results-${generation}.jsonl`);

/** One call: its body, and its reply once it has arrived. */
export const callPath = (folder: string, id: string): string => join(folder, `call-${id}.jsonl`);

const callName = /^call-([\w-]+)\.jsonl$/;
const ownName = /^(?:journal|results-\d+|call-[\w-]+)\.jsonl$/;

/** Ids of the calls that have a file. */
export async function callIdsIn(folder: string): Promise<string[]> {
  return (await namesIn(folder)).flatMap((name) => callName.exec(name)?.[1] ?? []);
}

/** Removes the progress. Leaves files that this command has not written. */
export async function removeProgress(disk: Disk, folder: string): Promise<void> {
  const names = (await namesIn(folder)).filter((name) => ownName.test(name));
  // The journal goes first: without it the other files mean nothing.
  const isJournal = (name: string): boolean => join(folder, name) === journalPath(folder);
  const ordered = [...names.filter(isJournal), ...names.filter((name) => !isJournal(name))];
  for (const name of ordered) await disk.remove(join(folder, name));
  await removeIfEmpty(folder);
}

export async function removeIfEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch((error: unknown) => {
    if (!['ENOENT', 'ENOTDIR', 'ENOTEMPTY'].includes(codeOf(error))) throw unwritable(folder, error);
  });
}

export async function namesIn(folder: string): Promise<string[]> {
  return await readdir(folder).catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return [];
    throw unwritable(folder, error);
  });
}
