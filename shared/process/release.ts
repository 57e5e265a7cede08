import { readFileSync } from 'node:fs';
import { projectFile } from './project-root.js';

/** The release of the running program: the version in package.json. */
export function ownRelease(): string {
  const file: unknown = JSON.parse(readFileSync(projectFile('package.json'), 'utf8'));
  const named = typeof file === 'object' && file !== null && 'version' in file ? file.version : undefined;
  return typeof named === 'string' ? named : 'unknown';
}
