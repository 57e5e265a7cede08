import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectFile } from '../../../shared/process/project-root.js';
import { runProgram } from '../run-program.js';

const source = projectFile('test/support/clients');
const directory = projectFile('.local/npm/clients');

/**
 * Programs of the installed packages, and their folder; or the reason why they cannot be installed, with its remedy.
 */
export type NpmTools =
  | { readonly directory: string; readonly program: (name: string) => string }
  | { readonly reason: string; readonly remedy: string };

/**
 * Installs the packages of `package-lock.json` beside this file, or returns what an earlier run has left under
 * `.local/`. They are no dependencies of the project, because they are larger than all of these.
 */
export async function npmTools(installLimitMs: number): Promise<NpmTools> {
  const tools = { directory, program: (name: string) => join(directory, 'node_modules/.bin', name) };
  const lock = await readFile(join(source, 'package-lock.json'), 'utf8');
  const digest = createHash('sha256').update(`${process.version}${lock}`).digest('hex');
  const complete = join(directory, 'complete');
  if ((await readFile(complete, 'utf8').catch(() => '')) === digest) return tools;

  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  for (const name of ['package.json', 'package-lock.json', '.npmrc'])
    await copyFile(join(source, name), join(directory, name));
  const commandLine = ['ci', '--ignore-scripts'];
  const { exitCode, output } = await runProgram('npm', commandLine, { directory, limitMs: installLimitMs });
  if (exitCode !== 0)
    return {
      reason: `npm ${commandLine.join(' ')} failed: ${output.trim().slice(-500)}`,
      remedy: 'give npm a network or a registry, so that it can install test/support/clients/package-lock.json',
    };
  await writeFile(complete, digest);
  return tools;
}
