import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { access, constants, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { createInterface } from 'node:readline';
import { childEnvironment } from '../../../shared/config/config.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { CliError, codeOf, exitCodes, unwritable } from '../context/cli-error.js';

/** The packages of a training, in pip's format. */
const requirementsFile = 'scripts/export/requirements-train.txt';
/** On disk, with pip itself. */
const sizeText = '410 MB';
/** The oldest Python that runs the package: 3.10. */
const minMinor = 10;

export interface EnvironmentOptions {
  /** Where the environment is, and the interpreter that makes it. Only tests choose them. */
  readonly folder?: string;
  readonly base?: string;
  /** Says a sentence to a person. */
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

/**
 * The Python interpreter of the trainings. The first call for a list of packages makes a virtual environment with them,
 * in the project's `.local/venvs/train`, or in `~/.cache/leadscore/train` for an installed package. An interrupted call
 * leaves nothing.
 * @returns the path of the interpreter
 * @throws CliError without a Python, or when pip fails
 */
export async function trainingPython({ say, signal, ...chosen }: EnvironmentOptions): Promise<string> {
  const folder = chosen.folder ?? (await environmentFolder());
  const python = interpreterIn(folder);
  const requirements = await readFile(projectFile(requirementsFile), 'utf8');
  const digest = createHash('sha256').update(requirements).digest('hex');
  if (await isComplete(folder, digest)) return python;

  const base = chosen.base ?? (await installedPython(signal));
  say(`Making a Python environment for trainings, once: ${folder}, ${sizeText}`);
  const made = `${folder}.${randomUUID().slice(0, 8)}`;
  try {
    await mkdir(dirname(folder), { recursive: true }).catch((error: unknown) => {
      throw unwritable(dirname(folder), error);
    });
    await runOrFail(base, ['-m', 'venv', made], { signal, what: 'The environment could not be made' });
    await install(interpreterIn(made), { say, signal });
    await writeFile(join(made, completeFile), digest);
    await replaceFolder(made, folder);
  } finally {
    await rm(made, { recursive: true, force: true });
  }
  return python;
}

/**
 * An interpreter that a person has named. Its packages are theirs.
 * @throws CliError when it does not run, or is too old
 */
export async function namedPython(path: string, signal: AbortSignal): Promise<string> {
  const version = await versionOf(path, signal);
  if (version === undefined) throw new CliError(`--python: ${path} is no Python that runs`, { code: 'no_python' });
  if (!isRecent(version))
    throw new CliError(
      `--python: ${path} is Python ${version.join('.')}, and a training needs 3.${minMinor} or later`,
      {
        code: 'no_python',
      },
    );
  return path;
}

/** The command that installs the packages of a training for an interpreter. */
export const installCommand = (python: string): string =>
  `${python} -m pip install --no-deps --only-binary=:all: -r ${projectFile(requirementsFile)}`;

const completeFile = 'complete';

const interpreterIn = (folder: string): string => join(folder, 'bin', 'python');

const isComplete = async (folder: string, digest: string): Promise<boolean> =>
  (await readFile(join(folder, completeFile), 'utf8').catch(() => '')) === digest;

/** A package that npm has installed may be replaced or read-only. */
async function environmentFolder(): Promise<string> {
  const root = projectFile('.');
  const isInstalled = root.split(sep).includes('node_modules');
  const isWritable = await access(root, constants.W_OK).then(
    () => true,
    () => false,
  );
  return isInstalled || !isWritable
    ? join(homedir(), '.cache', 'leadscore', 'train')
    : projectFile('.local/venvs/train');
}

/** Another process may have made the folder meanwhile: then its one stays. */
async function replaceFolder(made: string, folder: string): Promise<void> {
  const old = `${folder}.${randomUUID().slice(0, 8)}`;
  await rename(folder, old).catch((error: unknown) => {
    if (codeOf(error) !== 'ENOENT') throw error;
  });
  await rename(made, folder).catch((error: unknown) => {
    if (!['ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) throw error;
  });
  await rm(old, { recursive: true, force: true });
}

async function installedPython(signal: AbortSignal): Promise<string> {
  let found: readonly number[] | undefined;
  for (const name of ['python3', 'python']) {
    const version = await versionOf(name, signal);
    if (version !== undefined && isRecent(version)) return name;
    found ??= version;
  }
  const what = found === undefined ? 'Python was not found' : `Python ${found.join('.')} is too old`;
  throw new CliError(
    `${what}, and a training needs 3.${minMinor} or later. Install it as python3, or name one: --python PATH`,
    { code: 'no_python' },
  );
}

const isRecent = ([major = 0, minor = 0]: readonly number[]): boolean =>
  major > 3 || (major === 3 && minor >= minMinor);

async function versionOf(python: string, signal: AbortSignal): Promise<readonly number[] | undefined> {
  const script = 'import sys; print("%d.%d" % sys.version_info[:2])';
  const { exitCode, output } = await runProgram(python, ['-c', script], { signal });
  const numbers = /^(\d+)\.(\d+)$/m.exec(output)?.slice(1).map(Number);
  return exitCode === 0 ? numbers : undefined;
}

async function install(python: string, { say, signal }: Pick<EnvironmentOptions, 'say' | 'signal'>): Promise<void> {
  const options = ['--no-deps', '--only-binary=:all:', '--disable-pip-version-check', '--no-input'];
  const words = ['-m', 'pip', 'install', ...options, '-r', projectFile(requirementsFile)];
  // Names and markers of the list are in these lines too; a person wants to see what is slow.
  const onLine = (line: string): void => {
    const name = /^Collecting ([\w.-]+)/.exec(line)?.[1];
    if (name !== undefined) say(`  ${name}`);
  };
  const what = `pip could not install ${requirementsFile}. It needs a network or an index`;
  await runOrFail(python, words, { signal, what, onLine });
}

interface RunOptions {
  readonly signal: AbortSignal;
  readonly onLine?: (line: string) => void;
}

/** @throws CliError with the last lines of the output; with exit code 130 after an interruption */
async function runOrFail(
  program: string,
  words: readonly string[],
  { what, ...options }: RunOptions & { readonly what: string },
): Promise<void> {
  const { exitCode, output } = await runProgram(program, words, options);
  if (exitCode === 0) return;
  const last = output.trim().split('\n').slice(-5).join('\n');
  throw new CliError(`${what}: ${last}`, { code: 'no_packages' });
}

/** Runs a program to its end. An abort of the signal ends it, and then throws. */
async function runProgram(
  program: string,
  words: readonly string[],
  { signal, onLine }: RunOptions,
): Promise<{ readonly exitCode: number | null; readonly output: string }> {
  // A process group of its own: Ctrl-C in a terminal would end it before this process could say so.
  const child = spawn(program, words, {
    ...{ stdio: ['ignore', 'pipe', 'pipe'], detached: true },
    env: childEnvironment({ PYTHONPATH: undefined }),
  });
  let output = '';
  const keep = (text: string): void => {
    output = `${output}${text}`.slice(-8_000);
  };
  const stop = (): void => {
    child.kill();
  };
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  createInterface({ input: child.stdout }).on('line', (line) => {
    keep(`${line}\n`);
    onLine?.(line);
  });
  child.stderr.on('data', (bytes) => keep(String(bytes)));
  try {
    const exitCode = await new Promise<number | null>((resolve) => {
      child.once('error', (error) => {
        keep(error.message);
        resolve(null);
      });
      child.once('close', resolve);
    });
    if (signal.aborted) throw interrupted();
    return { exitCode, output };
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** A training that Ctrl-C or SIGTERM has ended. */
export const interrupted = (): CliError =>
  new CliError('Interrupted: nothing was written', { code: 'interrupted', exitCode: exitCodes.interrupted });
