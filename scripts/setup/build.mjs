import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { runCommand, SetupProblem } from './step.mjs';

const sourceFolders = ['api', 'worker', 'shared', 'scripts', 'test'];
const cliFile = join('dist', 'scripts', 'cli', 'main.js');
const startFile = join('dist', 'scripts', 'start.js');
const compiledFile = /\.(js|js\.map)$/;

/**
 * Compiles the TypeScript sources to `dist/` when they changed since the last build.
 * @param {object} options
 * @param {string} options.root
 * @param {(line: string) => void} options.say
 * @returns {Promise<string>} the outcome
 */
export async function prepareBuild({ root, say }) {
  const sources = await fingerprint(root);
  const built = await readFile(stampFileIn(root), 'utf8').catch(() => undefined);
  await linkCommandLine(root);
  if (built === sources.fingerprint) {
    await makeCliExecutable(root);
    return 'dist/ is up to date';
  }

  await build({ root, say });
  return 'dist/ is new';
}

/** Compiles the TypeScript sources and bundles the console, also when nothing has changed. */
export async function build({ root, say }) {
  const stampFile = stampFileIn(root);
  const sources = await fingerprint(root);
  say('compiling with tsc');
  const began = new Date();
  await rm(stampFile, { force: true }); // a failed build also writes files: the next one must run again
  await removeOrphans({ root, sourceFiles: sources.files });
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const { ok, output } = await runCommand(process.execPath, [compiler, '-p', '.'], { cwd: root });
  if (!ok) throw new SetupProblem(`The sources have type errors:\n${output.trimEnd()}`);
  say('bundling the console and the programs');
  for (const [script, what] of [
    ['build-console.mjs', 'console'],
    ['bundle-programs.mjs', 'programs'],
  ]) {
    const bundled = await runCommand(process.execPath, [join('scripts', script)], { cwd: root });
    if (!bundled.ok) throw new SetupProblem(`The ${what} cannot be built:\n${bundled.output.trimEnd()}`);
  }
  await makeCliExecutable(root);
  await utimes(join(root, startFile), began, began); // tsc leaves a file alone whose content is the same
  await writeFile(stampFile, sources.fingerprint);
}

/** The fingerprint of the sources that `dist/` was compiled from. */
const stampFileIn = (root) => join(root, 'dist', '.sources');

/** The source files, and a hash of their names, sizes and times. */
async function fingerprint(root) {
  const files = await sourceFilesOf(root, sourceFolders);
  const inputs = [...files, join(root, 'tsconfig.json'), join(root, 'package-lock.json')].sort();
  const lines = await Promise.all(
    inputs.map(async (file) => {
      const { size, mtimeMs } = await stat(file);
      return `${relative(root, file)} ${size} ${mtimeMs}`;
    }),
  );
  return { files, fingerprint: createHash('sha256').update(lines.join('\n')).digest('hex') };
}

async function sourceFilesOf(root, folders) {
  const lists = await Promise.all(folders.map((folder) => filesUnder(join(root, folder))));
  return lists.flat().filter((file) => /\.(m?ts|tsx|css|html)$/.test(file));
}

async function filesUnder(folder) {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

/** Removes compiled files without a source: Mocha would still run a deleted test. */
async function removeOrphans({ root, sourceFiles }) {
  const known = new Set(sourceFiles.map((file) => relative(root, file).replace(/\.ts$/, '')));
  for (const file of await filesUnder(join(root, 'dist'))) {
    if (!compiledFile.test(file)) continue;
    if (!known.has(relative(join(root, 'dist'), file).replace(compiledFile, ''))) await rm(file);
  }
}

async function makeCliExecutable(root) {
  await chmod(join(root, cliFile), 0o755).catch((error) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

/**
 * Links `leadscore` into node_modules/.bin. If npx ran before `dist/` existed, its cache holds an empty folder for the
 * package, and npx never reads `bin` in package.json again.
 * @param {string} root
 */
export async function linkCommandLine(root) {
  const folder = join(root, 'node_modules', '.bin');
  await mkdir(folder, { recursive: true });
  await symlink(join('..', '..', cliFile), join(folder, 'leadscore')).catch((error) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

/**
 * Checks that a build exists, and warns when the sources have changed since.
 * @param {object} options
 * @param {string} options.root
 * @param {(line: string) => void} options.say
 * @throws SetupProblem when nothing is compiled or the packages are not installed
 */
export async function checkBuild({ root, say }) {
  const [compiledMs, packagesMs] = await Promise.all([
    changedMs(join(root, startFile)),
    changedMs(join(root, 'node_modules')),
  ]);
  if (compiledMs === undefined || packagesMs === undefined)
    throw new SetupProblem('Leadscore is not set up yet: run "npm run setup" first.');
  const sources = await sourceFilesOf(root, ['api', 'worker', 'shared', 'scripts']);
  const times = await Promise.all(sources.map(changedMs));
  if (times.some((timeMs) => timeMs > compiledMs))
    say(
      'The sources have changed since dist/ was compiled, and dist/ is what runs. Compile them with "npm run setup".',
    );
}

/** Undefined when the file does not exist. */
async function changedMs(path) {
  const found = await stat(path).catch(() => undefined);
  return found?.mtimeMs;
}
