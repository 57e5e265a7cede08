import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { holdsAll } from './installed-packages.mjs';
import { programsOf } from './running-programs.mjs';
import { firstLines, lastLines, runCommand, SetupProblem } from './step.mjs';

/**
 * Checks this Node's version against package.json.
 * @param {string} root
 * @throws SetupProblem naming the version to install
 */
export async function checkNodeVersion(root) {
  const { engines } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const minVersion = engines.node.replace('>=', '');
  const [minMajor, minMinor] = minVersion.split('.').map(Number);
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < minMajor || (major === minMajor && minor < minMinor)) {
    throw new SetupProblem(`Node ${process.versions.node} is too old: install ${minVersion} or later.`);
  }
}

/**
 * Checks this Node's version and the operating system.
 * @param {string} root
 * @returns {Promise<string>} the version of Node, with advice if it is older than that of `.nvmrc`
 * @throws SetupProblem naming what to install
 */
export async function checkNode(root) {
  await checkNodeVersion(root);
  if (process.platform === 'win32') {
    throw new SetupProblem(
      'Redis and this set-up need Linux or macOS: on Windows, use the Windows Subsystem for Linux.',
    );
  }
  const advised = (await readFile(join(root, '.nvmrc'), 'utf8')).trim();
  const { node } = process.versions;
  const isOlder = Number(node.split('.')[0]) < Number(advised.split('.')[0]);
  return isOlder ? `${node} works. Node ${advised} takes less processor time: install it when you can` : node;
}

/**
 * Installs the npm packages of package-lock.json when `node_modules` differs from it, and checks that
 * onnxruntime-node loads. Install scripts do not run, so they download nothing.
 * @param {object} options
 * @param {string} options.root
 * @param {(line: string) => void} options.say
 * @returns {Promise<string>} the outcome
 * @throws SetupProblem also when packages are missing while a program of this folder runs
 */
export async function preparePackages({ root, say }) {
  const wanted = await readPackages(join(root, 'package-lock.json'));
  if (wanted === undefined) throw new SetupProblem('package-lock.json is missing: check out the project again.');
  const installed = await readPackages(join(root, 'node_modules', '.package-lock.json'));
  const upToDate = installed !== undefined && holdsAll(wanted, installed);
  if (!upToDate) {
    await refuseBesidePrograms(root);
    await install({ root, say, wanted });
  }
  await checkNativeBinding(root);
  return upToDate ? 'as in package-lock.json' : 'installed';
}

/** The packages of a lock file by their folder. npm also writes such a file into node_modules. */
async function readPackages(lockFile) {
  try {
    return JSON.parse(await readFile(lockFile, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/** npm empties node_modules first, and a running program loads packages from there when it starts a process. */
async function refuseBesidePrograms(root) {
  const running = await programsOf(root);
  if (running.length === 0) return;
  const names = running.map(({ pid, program }) => `process ${pid} (${program})`).join(', ');
  throw new SetupProblem(
    `The packages must be installed, and programs of this folder run: ${names}. They would lose their packages. ` +
      'Stop them, then run this again.',
  );
}

async function install({ root, say, wanted }) {
  say('installing with npm ci, from package-lock.json');
  const npm = (...words) =>
    runCommand('npm', [...words, '--ignore-scripts', '--include=dev', '--loglevel=error'], { cwd: root });
  let { ok, output } = await npm('ci');
  if (!ok && onlyLacksOptionalPackages({ output, wanted })) {
    say('package-lock.json does not list the packages of other systems: installing with npm install --no-save');
    ({ ok, output } = await npm('install', '--no-save'));
  }
  if (ok) return;
  throw new SetupProblem(
    `npm could not install the packages. Check that this machine reaches its npm registry, then run this again.\n${firstLines(output)}`,
  );
}

/**
 * Whether `npm ci` failed only because the lock file lacks optional packages. A registry without them causes this.
 * `npm install` accepts such a lock file and installs the versions in it.
 */
function onlyLacksOptionalPackages({ output, wanted }) {
  const optional = new Set(Object.values(wanted).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {})));
  const missing = [...output.matchAll(/Missing: (@?[^@\s]+)@\S* from lock file/g)].map((match) => match[1]);
  return missing.length > 0 && missing.every((name) => optional.has(name)) && !/Invalid: /.test(output);
}

async function checkNativeBinding(root) {
  const { ok, output } = await runCommand(process.execPath, ['-e', 'require("onnxruntime-node")'], {
    cwd: root,
  });
  if (ok) return;
  throw new SetupProblem(
    `onnxruntime-node does not load on ${process.platform} ${process.arch}. It needs Linux with glibc (x64, arm64) or ` +
      `macOS (arm64). If that is so, remove node_modules and run this again.\n${lastLines(output)}`,
  );
}
