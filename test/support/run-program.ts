import { execFile } from 'node:child_process';
import { childEnvironment } from '../../shared/config/config.js';

/** How a program ended. */
export interface ProgramEnd {
  /** Undefined when the program did not start, or was killed after its limit. */
  readonly exitCode: number | undefined;
  /** Standard output, then standard error. */
  readonly output: string;
}

interface RunOptions {
  readonly directory?: string;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly limitMs: number;
}

/**
 * Options of bash for commands of a document. With a socket as its input, bash may read bashrc, as for a remote shell.
 * With `-u`, bashrc may fail.
 */
export const bashOptions = ['--norc', '-euo', 'pipefail'] as const;

/** Runs commands of a document in bash, as `runProgram` does. */
export const runCommands = (commands: string, options: RunOptions): Promise<ProgramEnd> =>
  runProgram('bash', [...bashOptions, '-c', commands], options);

/**
 * Runs a program to its end. Kills it after `limitMs`. Never rejects.
 * @param options.environment is added to this process's environment
 */
export function runProgram(program: string, commandLine: readonly string[], options: RunOptions): Promise<ProgramEnd> {
  const { directory, environment = {}, limitMs } = options;
  const settings = {
    cwd: directory,
    env: childEnvironment(environment),
    timeout: limitMs,
    killSignal: 'SIGKILL' as const,
    maxBuffer: 64 * 1024 * 1024,
  };
  return new Promise((resolve) => {
    execFile(program, [...commandLine], settings, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : typeof error.code === 'number' ? error.code : undefined;
      const why = exitCode === undefined ? `\n${error?.killed ? `killed after ${limitMs} ms` : error?.message}` : '';
      resolve({ exitCode, output: `${stdout}${stderr}${why}` });
    });
  });
}
