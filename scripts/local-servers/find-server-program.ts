import { pathToFileURL } from 'node:url';
import { projectFile } from '../../shared/project-root.js';
import type { ServerName } from '../setup/find-server.mjs';

// `find-server.mjs` also runs before the first build, so it is not in dist/ and is loaded from the project's root.
async function findProgram(server: ServerName): Promise<string> {
  const lookUpFile = projectFile('scripts/setup/find-server.mjs');
  const { findServer, servers }: typeof import('../setup/find-server.mjs') = await import(
    pathToFileURL(lookUpFile).href
  );
  const { found, rejected } = await findServer({ server, root: projectFile('.') });
  if (found !== undefined) return found.path;
  const { program, minMajor } = servers[server];
  const reasons = rejected.length > 0 ? ` (${rejected.join('; ')})` : '';
  throw new Error(`${program} ${minMajor} or later was not found${reasons}. Run "npm run setup".`);
}

/**
 * The absolute path of a `redis-server`, searched on PATH, in the folders of package managers, and in `.local/bin`.
 * @throws Error when none of version 7 or later is found
 */
export async function findRedisServer(): Promise<string> {
  return findProgram('redis');
}

/**
 * The absolute path of a `mongod`, searched in the same places.
 * @throws Error when none of version 6 or later is found
 */
export async function findMongod(): Promise<string> {
  return findProgram('mongo');
}
