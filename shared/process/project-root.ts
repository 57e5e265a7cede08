import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Compiled modules and the bundles made of them lie at different depths. */
function findRoot(folder: string): string {
  if (existsSync(join(folder, 'package.json'))) return folder;
  const parent = dirname(folder);
  if (parent === folder) throw new Error(`no folder above ${import.meta.dirname} holds package.json`);
  return findRoot(parent);
}

let root: string | undefined;

/**
 * The absolute path of a file of the project or of the installed package.
 * @param relativePath from the root, with forward slashes
 */
export function projectFile(relativePath: string): string {
  root ??= findRoot(import.meta.dirname);
  return join(root, relativePath);
}
