import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

/** What the project needs of each server: its program, the oldest version that will do, where it tells its version. */
export const SERVERS = {
  redis: { program: 'redis-server', oldestMajor: 7, versionPattern: /v=(\d+)\.(\d+\.\d+)/ },
  mongo: { program: 'mongod', oldestMajor: 6, versionPattern: /db version v(\d+)\.(\d+\.\d+)/ },
};

/** Folders where package managers put servers, looked into even when PATH does not name them. */
const USUAL_FOLDERS = [
  '/usr/local/bin',
  '/usr/bin',
  '/usr/local/sbin',
  '/usr/sbin',
  '/opt/homebrew/bin',
  '/home/linuxbrew/.linuxbrew/bin',
];

/**
 * Looks for a server's program on PATH, then in the usual folders, then in the project's own `.local/bin`.
 * The set-up and the code that starts servers both call this, so that they never disagree.
 * @param {object} options
 * @param {'redis' | 'mongo'} options.server
 * @param {string} options.root the project's root folder
 * @param {string} [options.searchPath] folders as PATH lists them; PATH itself when left out
 * @returns the first program that runs and is new enough, if any, and a line for each that was passed over
 */
export async function findServer({ server, root, searchPath = process.env.PATH ?? '' }) {
  const { program, oldestMajor } = SERVERS[server];
  const folders = [
    ...searchPath.split(delimiter).filter(Boolean),
    ...USUAL_FOLDERS,
    join(root, '.local', 'bin'),
  ];
  const passedOver = [];
  for (const folder of new Set(folders)) {
    const path = join(folder, program);
    if (!(await isExecutable(path))) continue;
    const version = await versionOf({ server, path });
    if (version === undefined) passedOver.push(`${path} does not run`);
    else if (Number.parseInt(version, 10) < oldestMajor) passedOver.push(`${path} is ${version}, too old`);
    else return { found: { path, version }, passedOver };
  }
  return { found: undefined, passedOver };
}

/**
 * Asks a server's program for its version.
 * @param {object} options
 * @param {'redis' | 'mongo'} options.server
 * @param {string} options.path
 * @returns the version as `7.0.15`, or undefined when the program does not run or says something else
 */
export async function versionOf({ server, path }) {
  try {
    const { stdout } = await promisify(execFile)(path, ['--version'], { timeout: 10_000 });
    const match = SERVERS[server].versionPattern.exec(stdout);
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
