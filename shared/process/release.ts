import { readFileSync } from 'node:fs';
import { projectFile } from './project-root.js';

/**
 * The level of this release: the last step of shared/store/schema/schema-steps.ts. Each process notes it, so that a
 * command which changes the database knows whether an older one runs.
 * - 1: they write the number of the organisation into each segment, and read either lead index. They obey scopes
 *   and expiry of keys, and the suspension of an organisation.
 * - 2: they find a key by its previous hash, too.
 * - 3: they refuse keys and people of an organisation that is to be deleted.
 */
export const ownLevel = 3;

/** The release of the running program: the version in package.json. */
export function ownRelease(): string {
  const file: unknown = JSON.parse(readFileSync(projectFile('package.json'), 'utf8'));
  const named = typeof file === 'object' && file !== null && 'version' in file ? file.version : undefined;
  return typeof named === 'string' ? named : 'unknown';
}
