import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { projectFile } from '../../../shared/process/project-root.js';

/** SHA-1 by which Redis calls a Lua script. `file` is its path from the project's root. */
export const scriptDigest = (file: string): string =>
  createHash('sha1')
    .update(readFileSync(projectFile(file), 'utf8'))
    .digest('hex');
