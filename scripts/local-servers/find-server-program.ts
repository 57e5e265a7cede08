import { pathToFileURL } from 'node:url';
import { projectFile } from '../../shared/project-root.js';
import type { ServerName } from '../setup/find-server.mjs';

// The look-up is plain JavaScript that also runs before the build, so it is not copied to dist/ and is loaded
// from the project's root.
async function findProgram(server: ServerName): Promise<string> {
  const lookUpFile = projectFile('scripts/setup/find-server.mjs');
  const { findServer, servers }: typeof import('../setup/find-server.mjs') = await import(
    pathToFileURL(lookUpFile).href
  );
  const { found, rejected } = await findServer({ server, root: projectFile('.') });
  if (found !== undefined) return found.path;
  const { program, minMajor } = servers[server];
  const reasons = rejected.length > 0 ? ` (${rejected.join('; ')})` : '';
  throw new Error(`${program} ${minMajor} or later was not found${reasons}: run "npm run setup"`);
}

/**
 * Where the `redis-server` of this machine is: PATH, the usual folders, then the copy kept by the set-up.
 * @returns an absolute path
 * @throws Error that says what to do when there is none of version 7 or later
 */
export async function findRedisServer(): Promise<string> {
  return findProgram('redis');
}

/**
 * Where the `mongod` of this machine is: PATH, the usual folders, then the copy kept by the set-up.
 * @returns an absolute path
 * @throws Error that says what to do when there is none of version 6 or later
 */
export async function findMongod(): Promise<string> {
  return findProgram('mongo');
}
