import { redisCandidateMajor } from './apt-candidate.mjs';
import { findServer, SERVERS } from './find-server.mjs';
import { lastLines, runCommand } from './run-command.mjs';
import { SetupProblem } from './step.mjs';
import { unpackDebianPackages } from './unpack-debian-packages.mjs';

/**
 * Makes sure that there is a Redis to use: `REDIS_URL`, one that is installed, else one from the system's packages.
 * @param {object} options
 * @param {string} options.root
 * @param {(line: string) => void} options.say
 * @returns {Promise<string>} which one will be used
 * @throws SetupProblem that says what to do by hand
 */
export async function prepareRedis({ root, say }) {
  if (process.env.REDIS_URL) return 'REDIS_URL is set, none needed here';
  const { found, passedOver } = await findServer({ server: 'redis', root });
  if (found) return `${found.version}, ${found.path}`;
  for (const reason of passedOver) say(reason);

  const failure = await install({ root, say });
  const { found: installed } = await findServer({ server: 'redis', root });
  if (installed) return `${installed.version}, ${installed.path}, installed`;
  throw new SetupProblem(
    `redis-server ${SERVERS.redis.oldestMajor} or later could not be installed: ${failure}\n` +
      '  Install it (https://redis.io/docs/latest/operate/oss_and_stack/install/) so that it is on PATH, or set REDIS_URL.',
  );
}

/** Tries the package manager of this system; returns why there is no Redis afterwards, if there is none. */
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

/** The words that come before a command so that it runs as root, or undefined when that needs a password. */
async function rootPrefix() {
  if (process.getuid?.() === 0) return [];
  return (await runCommand('sudo', ['-n', 'true'])).ok ? ['sudo', '-n'] : undefined;
}

async function installWithApt({ asRoot, say }) {
  const apt = (...words) => {
    const [program, ...commandLine] = [
      ...asRoot,
      'env',
      'DEBIAN_FRONTEND=noninteractive',
      'apt-get',
      ...words,
    ];
    return runCommand(program, commandLine);
  };
  const install = () => apt('install', '-y', '--no-install-recommends', 'redis-server');
  if ((await redisCandidateMajor()) === undefined) await update();
  const major = await redisCandidateMajor();
  if (major !== undefined && major < SERVERS.redis.oldestMajor)
    return `this system's package is Redis ${major}.`;
  say('installing with apt-get install redis-server');
  let result = await install();
  if (!result.ok) {
    await update(); // the lists name a package that the mirror no longer has
    result = await install();
  }
  return `apt-get install redis-server said\n${lastLines(result.output)}`;

  async function update() {
    say('reading the package lists with apt-get update');
    await apt('update');
  }
}
