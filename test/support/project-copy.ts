import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectFile } from '../../shared/process/project-root.js';

/** A copy of the project, for tests of programs that keep data in the project's folder. */
export interface ProjectCopy {
  readonly directory: string;
  remove(): Promise<void>;
}

const copied = ['package.json', 'tsconfig.json', 'api', 'worker', 'shared', 'scripts', 'dist'];
const linked = ['node_modules', '.local/bin'];

/** Copies sources and compiled files with their times. Packages and servers are links to those of the project. */
export async function projectCopy(): Promise<ProjectCopy> {
  const directory = await mkdtemp(join(tmpdir(), 'leadscore-copy-'));
  const filter = (path: string): boolean => path !== projectFile('dist/test');
  for (const name of copied)
    await cp(projectFile(name), join(directory, name), { recursive: true, preserveTimestamps: true, filter });
  await mkdir(join(directory, '.local'));
  for (const name of linked) await symlink(projectFile(name), join(directory, name));
  return { directory, remove: () => rm(directory, { recursive: true, force: true }) };
}
