import { join } from 'node:path';

/**
 * The absolute path of a shipped file that is not TypeScript (Lua scripts, the demo's bundle). Compiled code runs from
 * `dist/shared/process/`.
 * @param relativePath from the project's root, with forward slashes
 */
export const projectFile = (relativePath: string): string => join(import.meta.dirname, '../../..', relativePath);
