import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { runCommand } from './run-command.mjs';
import { SetupProblem } from './step.mjs';

const SOURCE_FOLDERS = ['api', 'worker', 'shared', 'scripts', 'test'];
const COMMAND_LINE = join('dist', 'scripts', 'cli', 'main.js');
const COMPILED = /\.(js|js\.map)$/;

/**
 * Compiles the TypeScript sources to `dist/` when they, or what is in it, changed since the last time.
 * @param {object} options
 * @param {string} options.root
 * @param {(line: string) => void} options.say
 * @returns {Promise<string>} what is there now
 */
export async function prepareBuild({ root, say }) {
  const stampFile = join(root, 'dist', '.sources');
  const sources = await fingerprint(root);
  const built = await readFile(stampFile, 'utf8').catch(() => undefined);
  await linkCommandLine(root);
  if (built === sources.fingerprint) return 'dist/ is up to date';

  say('compiling with tsc');
  await rm(stampFile, { force: true }); // a compilation that fails leaves files too: the next one starts over
  await removeOrphans({ root, sourceFiles: sources.files });
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const { ok, output } = await runCommand(process.execPath, [compiler, '-p', '.'], { cwd: root });
  if (!ok) throw new SetupProblem(`The sources have type errors:\n${output.trimEnd()}`);
  await makeCliExecutable(root);
  await writeFile(stampFile, sources.fingerprint);
  return 'dist/ is new';
}

/** The source files and a hash of their names, sizes and times. */
async function fingerprint(root) {
  const files = await sourceFilesOf(root, SOURCE_FOLDERS);
  const inputs = [...files, join(root, 'tsconfig.json'), join(root, 'package-lock.json')].sort();
  const lines = await Promise.all(
    inputs.map(async (file) => {
      const { size, mtimeMs } = await stat(file);
      return `${relative(root, file)} ${size} ${mtimeMs}`;
    }),
  );
  return { files, fingerprint: createHash('sha256').update(lines.join('\n')).digest('hex') };
}

/**
 * @param {string} root
 * @param {string[]} folders
 * @returns {Promise<string[]>} the paths of the TypeScript sources in them
 */
export async function sourceFilesOf(root, folders) {
  const lists = await Promise.all(folders.map((folder) => filesUnder(join(root, folder))));
  return lists.flat().filter((file) => /\.m?ts$/.test(file));
}

async function filesUnder(folder) {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

/** Removes what was compiled from a source that is gone: Mocha would go on running such a test. */
async function removeOrphans({ root, sourceFiles }) {
  const known = new Set(sourceFiles.map((file) => relative(root, file).replace(/\.ts$/, '')));
  for (const file of await filesUnder(join(root, 'dist'))) {
    if (!COMPILED.test(file)) continue;
    if (!known.has(relative(join(root, 'dist'), file).replace(COMPILED, ''))) await rm(file);
  }
}

/** Lets `npx leadscore` run the operator's command line. */
async function makeCliExecutable(root) {
  await chmod(join(root, COMMAND_LINE), 0o755).catch((error) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

/**
 * Puts `leadscore` where npx finds it. Where npx was asked for it before there was a `dist/`, it keeps an empty folder of
 * its own for it and never looks again.
 * @param {string} root
 */
export async function linkCommandLine(root) {
  const folder = join(root, 'node_modules', '.bin');
  await mkdir(folder, { recursive: true });
  await symlink(join('..', '..', COMMAND_LINE), join(folder, 'leadscore')).catch((error) => {
    if (error.code !== 'EEXIST') throw error;
  });
}
