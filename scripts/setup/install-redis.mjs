import { chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findServer, servers } from './find-server.mjs';
import { lastLines, runCommand, SetupProblem } from './step.mjs';

/**
 * Finds a Redis (`REDIS_URL`, or an installed redis-server), or installs one from the system's packages.
 * @param {object} options
 * @param {string} options.root
 * @param {(line: string) => void} options.say
 * @returns {Promise<string>} the one that will be used
 * @throws SetupProblem with the manual steps
 */
export async function prepareRedis({ root, say }) {
  if (process.env.REDIS_URL) return 'REDIS_URL is set, none needed here';
  const { found, rejected } = await findServer({ server: 'redis', root });
  if (found) return `${found.version}, ${found.path}`;
  for (const reason of rejected) say(reason);

  const failure = await install({ root, say });
  const { found: installed } = await findServer({ server: 'redis', root });
  if (installed) return `${installed.version}, ${installed.path}, installed`;
  throw new SetupProblem(
    `redis-server ${servers.redis.minMajor} or later could not be installed: ${failure}\n` +
      '  Install it (https://redis.io/docs/latest/operate/oss_and_stack/install/) so that it is on PATH, or set REDIS_URL.',
  );
}

/** Tries this system's package manager. Returns the likely reason in case Redis is missing afterwards. */
async function install({ root, say }) {
  if (process.platform === 'darwin') return installWithBrew(say);
  if (!(await runCommand('apt-get', ['--version'])).ok) return 'this system has neither apt-get nor brew.';
  const asRoot = await rootPrefix();
  return asRoot ? installWithApt({ asRoot, say }) : unpackDebianPackages({ root, say });
}

async function installWithBrew(say) {
  say('installing with brew install redis');
  const { output } = await runCommand('brew', ['install', 'redis'], {
    env: { HOMEBREW_NO_AUTO_UPDATE: '1' },
  });
  return `brew install redis said\n${lastLines(output)}`;
}

/** The prefix that runs a command as root; undefined when root needs a password. */
async function rootPrefix() {
  if (process.getuid?.() === 0) return [];
  return (await runCommand('sudo', ['-n', 'true'])).ok ? ['sudo', '-n'] : undefined;
}

async function installWithApt({ asRoot, say }) {
  const apt = (...words) => {
    const [program, ...commandLine] = [...asRoot, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', ...words];
    return runCommand(program, commandLine);
  };
  const install = () => apt('install', '-y', '--no-install-recommends', 'redis-server');
  if ((await redisCandidateMajor()) === undefined) await update();
  const major = await redisCandidateMajor();
  if (major !== undefined && major < servers.redis.minMajor) return `this system's package is Redis ${major}.`;
  say('installing with apt-get install redis-server');
  let result = await install();
  if (!result.ok) {
    await update(); // outdated lists name a package that the mirror no longer has
    result = await install();
  }
  return `apt-get install redis-server said\n${lastLines(result.output)}`;

  async function update() {
    say('reading the package lists with apt-get update');
    await apt('update');
  }
}

/**
 * The major version of the redis-server package that apt would install.
 * @param {string[]} [aptOptions] options for apt's commands, which select the package lists
 * @returns {Promise<number | undefined>} undefined when the package lists have no redis-server
 */
async function redisCandidateMajor(aptOptions = []) {
  const { stdout } = await runCommand('apt-cache', [...aptOptions, 'policy', 'redis-server'], {
    env: { LC_ALL: 'C' },
  });
  const match = /Candidate: (?:\d+:)?(\d+)\./.exec(stdout);
  return match ? Number(match[1]) : undefined;
}

/**
 * Unpacks Debian's or Ubuntu's Redis packages under `.local/`, which needs no root. Works in a temporary folder and
 * renames it at the end, so that an interrupted run leaves nothing half done.
 * @returns {Promise<string>} the likely reason in case Redis is missing afterwards
 */
async function unpackDebianPackages({ root, say }) {
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

/** Downloads the packages with the system's package lists, or with fresh lists when that fails. */
async function download({ aside, say }) {
  say('not root: unpacking the packages redis-server and redis-tools into .local/');
  const first = await downloadWith({ aside, aptOptions: [] });
  if (first === undefined) return undefined;
  say('reading the package lists with apt-get update, into .local/');
  await mkdir(join(aside, 'lists', 'partial'), { recursive: true });
  await mkdir(join(aside, 'cache', 'archives', 'partial'), { recursive: true });
  const aptOptions = ['-o', `Dir::State::lists=${join(aside, 'lists')}`, '-o', `Dir::Cache=${join(aside, 'cache')}`];
  const update = await runCommand('apt-get', [...aptOptions, 'update']);
  if (!update.ok) return `apt-get update said\n${lastLines(update.output)}`;
  return downloadWith({ aside, aptOptions });
}

async function downloadWith({ aside, aptOptions }) {
  const major = await redisCandidateMajor(aptOptions);
  if (major === undefined) return 'the package lists have no redis-server.';
  if (major < servers.redis.minMajor) return `this system's package is Redis ${major}.`;
  const packages = ['redis-server', 'redis-tools', ...(await missingLibraries(aptOptions))];
  const { ok, output } = await runCommand('apt-get', [...aptOptions, 'download', ...packages], {
    cwd: join(aside, 'packages'),
  });
  return ok ? undefined : `apt-get download said\n${lastLines(output)}`;
}

/** Library packages that Redis needs and that this system lacks. */
async function missingLibraries(aptOptions) {
  const { stdout } = await runCommand('apt-cache', [...aptOptions, 'depends', 'redis-server', 'redis-tools'], {
    env: { LC_ALL: 'C' },
  });
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

/** Writes `.local/bin/redis-server`, which starts the unpacked program with its own libraries. */
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
