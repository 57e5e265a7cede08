import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The absolute path of a file that ships with the project but is not TypeScript (Lua scripts, the demo's bundle).
 * Compiled code lives under `dist/`, so the root is looked for upwards: the first folder with a `package.json`.
 * @param relativePath path from the project's root, with forward slashes
 * @throws Error when no project root is found above this module
 */
export function projectFile(relativePath: string): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(directory, 'package.json'))) {
    const parent = dirname(directory);
    if (parent === directory)
      throw new Error('Leadscore is not inside its project folder: package.json was not found');
    directory = parent;
  }
  return join(directory, relativePath);
}
