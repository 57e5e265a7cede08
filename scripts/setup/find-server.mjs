import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

/** Each server's program, the oldest supported major version, and the version in its `--version` output. */
export const servers = {
  redis: { program: 'redis-server', minMajor: 7, versionPattern: /v=(\d+)\.(\d+\.\d+)/ },
  mongo: { program: 'mongod', minMajor: 6, versionPattern: /db version v(\d+)\.(\d+\.\d+)/ },
};

/** Folders of package managers, searched even when PATH does not name them. */
const packageFolders = [
  '/usr/local/bin',
  '/usr/bin',
  '/usr/local/sbin',
  '/usr/sbin',
  '/opt/homebrew/bin',
  '/home/linuxbrew/.linuxbrew/bin',
];

/**
 * Looks for a server's program on PATH, then in the folders of package managers, then in the project's `.local/bin`.
 * The set-up and the code that starts servers both use it, so that they find the same program.
 * @param {object} options
 * @param {'redis' | 'mongo'} options.server
 * @param {string} options.root the project's root folder
 * @param {string} [options.searchPath] folders as in PATH; PATH itself by default
 * @returns the first program that runs and is new enough, if any, and a line for each rejected one
 */
export async function findServer({ server, root, searchPath = process.env.PATH ?? '' }) {
  const { program, minMajor } = servers[server];
  const folders = [...searchPath.split(delimiter).filter(Boolean), ...packageFolders, join(root, '.local', 'bin')];
  const rejected = [];
  for (const folder of new Set(folders)) {
    const path = join(folder, program);
    if (!(await isExecutable(path))) continue;
    const version = await versionOf({ server, path });
    if (version === undefined) rejected.push(`${path} does not run`);
    else if (Number.parseInt(version, 10) < minMajor) rejected.push(`${path} is ${version}, too old`);
    else return { found: { path, version }, rejected };
  }
  return { found: undefined, rejected };
}

/**
 * @param {object} options
 * @param {'redis' | 'mongo'} options.server
 * @param {string} options.path
 * @returns the program's version as `7.0.15`; undefined when it does not run or prints something else
 */
export async function versionOf({ server, path }) {
  try {
    const { stdout } = await promisify(execFile)(path, ['--version'], { timeout: 10_000 });
    const match = servers[server].versionPattern.exec(stdout);
    return match ? `${match[1]}.${match[2]}` : undefined;
  } catch {
    return undefined;
  }
}

async function isExecutable(path) {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
