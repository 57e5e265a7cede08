import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { firstLines, lastLines, runCommand } from './run-command.mjs';
import { SetupProblem } from './step.mjs';

/**
 * Installs the npm packages of package-lock.json when `node_modules` does not hold exactly them, and checks that the
 * one with native code loads. No package's install script is run, so nothing is downloaded beside the packages.
 * @param {object} options
 * @param {string} options.root
 * @param {(line: string) => void} options.say
 * @returns {Promise<string>} what is there now
 */
export async function preparePackages({ root, say }) {
  const wanted = await readPackages(join(root, 'package-lock.json'));
  if (wanted === undefined)
    throw new SetupProblem('package-lock.json is missing: check out the project again.');
  const upToDate = holdsAll(wanted, await readPackages(join(root, 'node_modules', '.package-lock.json')));
  if (!upToDate) await install({ root, say, wanted });
  await checkNativeBinding(root);
  return upToDate ? 'as in package-lock.json' : 'installed';
}

/** The packages of a lock file by their folder; npm writes one of what it installed into node_modules as well. */
async function readPackages(lockFile) {
  try {
    return JSON.parse(await readFile(lockFile, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

function holdsAll(wanted, installed) {
  if (installed === undefined) return false;
  return Object.entries(wanted).every(([folder, { integrity, version, ...rest }]) => {
    if (folder === '') return true;
    const there = installed[folder];
    if (there === undefined) return rest.optional === true && !isForThisMachine(rest);
    return there.version === version && there.integrity === integrity;
  });
}

function isForThisMachine({ os = [process.platform], cpu = [process.arch], libc }) {
  return os.includes(process.platform) && cpu.includes(process.arch) && libc === undefined;
}

async function install({ root, say, wanted }) {
  say('installing with npm ci, from package-lock.json');
  const npm = (...words) =>
    runCommand('npm', [...words, '--ignore-scripts', '--include=dev', '--loglevel=error'], { cwd: root });
  let { ok, output } = await npm('ci');
  if (!ok && onlyLacksOptionalPackages({ output, wanted })) {
    say(
      'package-lock.json does not list the packages of other systems: installing with npm install --no-save',
    );
    ({ ok, output } = await npm('install', '--no-save'));
  }
  if (ok) return;
  throw new SetupProblem(
    `npm could not install the packages. Check that this machine reaches its npm registry, then run this again.\n${firstLines(output)}`,
  );
}

/**
 * Whether all that `npm ci` refuses is that the lock file leaves out optional packages, as one does that was written
 * against a registry without them. `npm install` copes with that, and keeps to the versions of the lock file.
 */
function onlyLacksOptionalPackages({ output, wanted }) {
  const optional = new Set(
    Object.values(wanted).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {})),
  );
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
