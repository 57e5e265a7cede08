import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The absolute path of a shipped file that is not TypeScript (Lua scripts, the demo's bundle). Compiled code runs below
 * `dist/`, so this looks upwards for the first folder with a `package.json`.
 * @param relativePath from the project's root, with forward slashes
 * @throws Error when no folder above this module has a `package.json`
 */
export function projectFile(relativePath: string): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(directory, 'package.json'))) {
    const parent = dirname(directory);
    if (parent === directory) throw new Error('Leadscore is not inside its project folder: package.json was not found');
    directory = parent;
  }
  return join(directory, relativePath);
}
