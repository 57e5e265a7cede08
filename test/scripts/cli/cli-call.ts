import { PassThrough } from 'node:stream';
import { runCli } from '../../../scripts/cli/run-cli.js';
import { readConfig } from '../../../shared/config.js';
import type { CliResult } from './cli-process.js';

/**
 * Runs a command within this process, as `main.ts` does: many times faster than a process of its own.
 * @param settings the environment; nothing that is set where the tests run reaches the command
 * @param typed what a person at a terminal types, to its end; without it there is no terminal
 * @param shown which outputs that terminal shows
 */
export async function callCli(
  words: readonly string[],
  settings: Readonly<Record<string, string>> = {},
  typed?: string,
  shown: readonly ('stdout' | 'stderr')[] = ['stdout', 'stderr'],
): Promise<CliResult> {
  const isTTY = typed !== undefined;
  const stdin = Object.assign(new PassThrough(), { isTTY });
  stdin.end(typed);
  const stdout = Object.assign(new PassThrough(), { isTTY: isTTY && shown.includes('stdout') });
  const stderr = Object.assign(new PassThrough(), { isTTY: isTTY && shown.includes('stderr') });
  const exitCode = await runCli(words, { stdin, stdout, stderr, readConfig: () => readConfig(settings) });
  return { exitCode, stdout: readAll(stdout), stderr: readAll(stderr) };
}

/**
 * Runs a command with `--json` and gives its document.
 * @throws Error with what it said when it failed, or printed anything else than one document
 */
export async function cliDocument(
  words: readonly string[],
  settings: Readonly<Record<string, string>>,
): Promise<Record<string, unknown>> {
  const { exitCode, stdout, stderr } = await callCli([...words, '--json'], settings);
  if (exitCode !== 0) throw new Error(`exit code ${exitCode}: ${stderr}`);
  const document: unknown = JSON.parse(stdout);
  if (typeof document === 'object' && document !== null) return { ...document };
  throw new Error(`no document: ${stdout}`);
}

const readAll = (stream: PassThrough): string => String(stream.read() ?? '');
