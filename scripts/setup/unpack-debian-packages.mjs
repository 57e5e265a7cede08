import { chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { redisCandidateMajor } from './apt-candidate.mjs';
import { SERVERS } from './find-server.mjs';
import { lastLines, runCommand } from './run-command.mjs';

/**
 * Puts Debian's or Ubuntu's Redis under `.local/` without root: its packages are downloaded and unpacked, not
 * installed. Everything is made aside and renamed into place.
 * @param {object} options
 * @param {string} options.root
 * @param {(line: string) => void} options.say
 * @returns {Promise<string>} why there may be no Redis afterwards
 */
export async function unpackDebianPackages({ root, say }) {
  const local = join(root, '.local');
  const aside = join(local, `redis.${process.pid}.part`);
  try {
    await mkdir(join(aside, 'packages'), { recursive: true });
    const failure = await download({ aside, say });
    if (failure !== undefined) return failure;
    const unpacked = await unpack(aside);
    if (!unpacked.ok) return `dpkg -x said\n${lastLines(unpacked.output)}`;
    await rm(join(local, 'redis'), { recursive: true, force: true });
    await rename(join(aside, 'tree'), join(local, 'redis'));
    await writeStarter(local);
    return 'the unpacked redis-server does not run here.';
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

/** Downloads what is needed, with the system's package lists, or with fresh ones of our own where those fail. */
async function download({ aside, say }) {
  say('not root: unpacking the packages redis-server and redis-tools into .local/');
  const first = await downloadWith({ aside, aptOptions: [] });
  if (first === undefined) return undefined;
  say('reading the package lists with apt-get update, into .local/');
  await mkdir(join(aside, 'lists', 'partial'), { recursive: true });
  await mkdir(join(aside, 'cache', 'archives', 'partial'), { recursive: true });
  const aptOptions = [
    '-o',
    `Dir::State::lists=${join(aside, 'lists')}`,
    '-o',
    `Dir::Cache=${join(aside, 'cache')}`,
  ];
  const update = await runCommand('apt-get', [...aptOptions, 'update']);
  if (!update.ok) return `apt-get update said\n${lastLines(update.output)}`;
  return downloadWith({ aside, aptOptions });
}

async function downloadWith({ aside, aptOptions }) {
  const major = await redisCandidateMajor(aptOptions);
  if (major === undefined) return 'the package lists name no redis-server.';
  if (major < SERVERS.redis.oldestMajor) return `this system's package is Redis ${major}.`;
  const packages = ['redis-server', 'redis-tools', ...(await missingLibraries(aptOptions))];
  const { ok, output } = await runCommand('apt-get', [...aptOptions, 'download', ...packages], {
    cwd: join(aside, 'packages'),
  });
  return ok ? undefined : `apt-get download said\n${lastLines(output)}`;
}

/** The library packages that Redis depends on and that this system does not have. */
async function missingLibraries(aptOptions) {
  const { stdout } = await runCommand(
    'apt-cache',
    [...aptOptions, 'depends', 'redis-server', 'redis-tools'],
    {
      env: { LC_ALL: 'C' },
    },
  );
  const names = [...stdout.matchAll(/ \|?Depends: (lib\S+|lua\S+)/g)].map((match) => match[1]);
  const missing = [];
  for (const name of new Set(names)) {
    const status = await runCommand('dpkg-query', ['--status', name], { env: { LC_ALL: 'C' } });
    if (!status.stdout.includes('\nStatus: install ok installed')) missing.push(name);
  }
  return missing;
}

async function unpack(aside) {
  for (const file of await readdir(join(aside, 'packages'))) {
    const result = await runCommand('dpkg', ['-x', join(aside, 'packages', file), join(aside, 'tree')]);
    if (!result.ok) return result;
  }
  return { ok: true, output: '' };
}

/** Writes `.local/bin/redis-server`, which starts the unpacked one with the libraries that came with it. */
async function writeStarter(local) {
  const [architecture = ''] = await readdir(join(local, 'redis', 'usr', 'lib')).then((names) =>
    names.filter((name) => name.includes('-linux-')),
  );
  const starter = `#!/bin/sh
# Written by scripts/setup.mjs.
here="$(dirname "$0")/../redis"
LD_LIBRARY_PATH="$here/usr/lib/${architecture}:$here/lib/${architecture}" exec "$here/usr/bin/redis-server" "$@"
`;
  await mkdir(join(local, 'bin'), { recursive: true });
  const part = join(local, 'bin', `redis-server.${process.pid}.part`);
  await writeFile(part, starter);
  await chmod(part, 0o755);
  await rename(part, join(local, 'bin', 'redis-server'));
}
