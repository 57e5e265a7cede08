import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectFile } from '../../shared/process/project-root.js';
import { runProgram } from './run-program.js';

/** Contents of a virtual environment. */
export interface VenvPlan {
  /** Its folder under `.local/venvs/`. */
  readonly name: string;
  /** In pip's format; path from the project's root. */
  readonly requirementsFile: string;
  /** The oldest suitable Python: 10 means 3.10. */
  readonly minMinor: number;
  /** Further options for `pip install`. */
  readonly pipOptions?: readonly string[];
  readonly installLimitMs: number;
}

/** Programs of a virtual environment by name; or the reason why it cannot be made, with its remedy. */
export type Venv =
  | { readonly program: (name: string) => string }
  | { readonly reason: string; readonly remedy: string };

/**
 * Makes a virtual environment, or returns the one that an earlier run has left under `.local/`. It is made again when
 * the requirements or Python change.
 */
export async function pythonVenv(plan: VenvPlan): Promise<Venv> {
  const python = await runProgram('python3', ['--version'], { limitMs: 10_000 });
  const minor = Number(/^Python 3\.(\d+)/.exec(python.output)?.[1]);
  if (python.exitCode !== 0 || !(minor >= plan.minMinor))
    return {
      reason: `python3 (3.${plan.minMinor} or later) was not found: ${python.output.trim()}`,
      remedy: `install Python 3.${plan.minMinor} or later as python3`,
    };

  const requirements = await readFile(projectFile(plan.requirementsFile), 'utf8');
  const directory = join(projectFile('.local'), 'venvs', plan.name);
  const venv = { program: (name: string) => join(directory, 'bin', name) };
  const complete = join(directory, 'complete');
  const digest = createHash('sha256').update(`${python.output}${requirements}`).digest('hex');
  if ((await readFile(complete, 'utf8').catch(() => '')) === digest) return venv;

  const reason = await make(directory, plan);
  if (reason !== undefined)
    return {
      reason,
      remedy: `give pip a network or an index, so that it can install ${plan.requirementsFile}`,
    };
  await writeFile(complete, digest);
  return venv;
}

async function make(directory: string, plan: VenvPlan): Promise<string | undefined> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input'];
  const steps: readonly [string, readonly string[]][] = [
    ['python3', ['-m', 'venv', directory]],
    [
      join(directory, 'bin', 'python'),
      [...install, ...(plan.pipOptions ?? []), '-r', projectFile(plan.requirementsFile)],
    ],
  ];
  for (const [program, commandLine] of steps) {
    const { exitCode, output } = await runProgram(program, commandLine, { limitMs: plan.installLimitMs });
    if (exitCode !== 0) return `${program} ${commandLine.join(' ')} failed: ${output.trim().slice(-500)}`;
  }
  return undefined;
}
