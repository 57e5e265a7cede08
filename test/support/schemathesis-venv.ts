import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectFile } from '../../shared/project-root.js';
import { runProgram } from './run-program.js';

const requirementsFile = 'test/support/schemathesis-requirements.txt';
const leastMinor = 11;
const installLimitMs = 180_000;

/** Programs of the virtual environment by name; or why there is none. */
export type Venv = { readonly program: (name: string) => string } | { readonly reason: string };

/**
 * The virtual environment with Schemathesis, made at the first call and kept under `.local/` for the next. It is made
 * again when the requirements change.
 */
export async function schemathesisVenv(): Promise<Venv> {
  const requirements = await readFile(projectFile(requirementsFile), 'utf8');
  const directory = join(projectFile('.local'), 'venvs', 'schemathesis');
  const venv = { program: (name: string) => join(directory, 'bin', name) };
  const complete = join(directory, 'complete');
  const digest = createHash('sha256').update(requirements).digest('hex');
  if ((await readFile(complete, 'utf8').catch(() => '')) === digest) return venv;

  const reason = (await withoutPython()) ?? (await make(directory));
  if (reason !== undefined) return { reason };
  await writeFile(complete, digest);
  return venv;
}

async function withoutPython(): Promise<string | undefined> {
  const { exitCode, output } = await runProgram('python3', ['--version'], { limitMs: 10_000 });
  const minor = Number(/^Python 3\.(\d+)/.exec(output)?.[1]);
  if (exitCode === 0 && minor >= leastMinor) return undefined;
  return `python3 (3.${leastMinor} or later) is not there: ${output.trim()}`;
}

async function make(directory: string): Promise<string | undefined> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const steps: readonly [string, readonly string[]][] = [
    ['python3', ['-m', 'venv', directory]],
    [
      join(directory, 'bin', 'python'),
      ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r', projectFile(requirementsFile)],
    ],
  ];
  for (const [program, commandLine] of steps) {
    const { exitCode, output } = await runProgram(program, commandLine, { limitMs: installLimitMs });
    if (exitCode !== 0) return `${program} ${commandLine.join(' ')} failed: ${output.trim().slice(-500)}`;
  }
  return undefined;
}
