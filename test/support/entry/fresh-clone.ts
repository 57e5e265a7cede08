import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { projectFile } from '../../../shared/process/project-root.js';
import { runProgram } from '../run-program.js';

/** Where a set-up may take long: it compiles all sources. */
export const setUpLimitMs = 180_000;

/** Not in a clone. */
const notCopied = ['.git', '.local', 'dist', 'node_modules'];
/** Tests, and programs for developers: with them, the compilation would take twice as long. */
const leftOut = ['test', 'scripts/test', 'scripts/bench', 'scripts/chaos', 'scripts/attack'];

let cloning: Promise<string> | undefined;

/**
 * A copy of the project without `dist/`, in which `npm run setup` has then run. Its packages and servers are links to
 * those of the project. The test files of this Mocha process share it.
 * @returns its folder
 */
export function freshClone(): Promise<string> {
  cloning ??= setUpClone();
  return cloning;
}

/** Removes the clone, if any test has asked for it. For the root hooks. */
export async function removeFreshClone(): Promise<void> {
  const directory = await cloning?.catch(() => undefined);
  if (directory !== undefined) await rm(directory, { recursive: true, force: true });
}

async function setUpClone(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'leadscore-clone-'));
  try {
    await copySources(directory, leftOut);
    await linkPackages(directory);
    const { exitCode, output } = await runProgram('npm', ['run', 'setup'], { directory, limitMs: setUpLimitMs });
    if (exitCode !== 0) throw new Error(`npm run setup failed (${exitCode}):\n${output}`);
    return directory;
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

/** Copies the files of a clone with their times. */
export async function copySources(directory: string, without: readonly string[]): Promise<void> {
  const left = new Set([...notCopied, ...without]);
  const root = projectFile('.');
  const filter = (path: string): boolean => !left.has(relative(root, path));
  for (const name of await readdir(root))
    if (!left.has(name))
      await cp(join(root, name), join(directory, name), { recursive: true, preserveTimestamps: true, filter });
}

/** Links each package and the servers. `.bin` is a folder of its own: the set-up links `leadscore` into it. */
export async function linkPackages(directory: string): Promise<void> {
  const folder = join(directory, 'node_modules');
  await mkdir(join(folder, '.bin'), { recursive: true });
  const packages = await readdir(projectFile('node_modules'));
  const programs = await readdir(projectFile('node_modules/.bin'));
  const linked = [...packages, ...programs.map((name) => `.bin/${name}`)];
  for (const name of linked.filter((each) => each !== '.bin' && each !== '.bin/leadscore'))
    await symlink(projectFile(`node_modules/${name}`), join(folder, name));
  await mkdir(join(directory, '.local'));
  await symlink(projectFile('.local/bin'), join(directory, '.local', 'bin'));
}
