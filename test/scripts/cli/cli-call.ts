import { type ChildProcess, spawn } from 'node:child_process';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { runCli } from '../../../scripts/cli/run-cli.js';
import { childEnvironment, readOperatorConfig } from '../../../shared/config/config.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { testServers } from '../../support/service/servers.js';
import type { RunningService } from '../../support/service/service.js';

/**
 * Runs a command in this process, like `main.ts`, which is many times faster than a child process.
 * @param settings the complete environment of the command
 * @param typed terminal input up to its end; without it standard input is not a terminal
 * @param shown the outputs that are terminals, if `typed` is given
 */
export async function callCli(
  words: readonly string[],
  settings: Readonly<Record<string, string>> = {},
  typed?: string,
  shown: readonly ('stdout' | 'stderr')[] = ['stdout', 'stderr'],
): Promise<CliResult> {
  const isTTY = typed !== undefined;
  // Without this, an output above 32 kB would wait for a reader, and be read in part.
  const unlimited = { highWaterMark: 64 * 1024 * 1024 };
  const stdin = Object.assign(new PassThrough(), { isTTY });
  stdin.end(typed);
  const stdout = Object.assign(new PassThrough(unlimited), { isTTY: isTTY && shown.includes('stdout') });
  const stderr = Object.assign(new PassThrough(unlimited), { isTTY: isTTY && shown.includes('stderr') });
  const exitCode = await runCli(words, { stdin, stdout, stderr, readConfig: () => readOperatorConfig(settings) });
  return { exitCode, stdout: readAll(stdout), stderr: readAll(stderr) };
}

/**
 * Runs a command with `--json` and returns its document.
 * @throws Error with standard error when the command fails or prints anything but one document
 */
export async function cliDocument(
  words: readonly string[],
  settings: Readonly<Record<string, string>>,
): Promise<Record<string, unknown>> {
  const { exitCode, stdout, stderr } = await callCli([...words, '--json'], settings);
  if (exitCode !== 0) throw new Error(`exit code ${exitCode}: ${stderr}`);
  const document: unknown = JSON.parse(stdout);
  if (typeof document === 'object' && document !== null) return { ...document };
  throw new Error(`not a JSON object: ${stdout}`);
}

/** The environment of an operator of a running service. */
export async function settingsOf({ stores, redisServer, keyPepper }: RunningService): Promise<Record<string, string>> {
  const url = new URL((await testServers()).mongoUrl);
  url.pathname = stores.database.databaseName;
  return { MONGODB_URL: String(url), REDIS_URL: redisServer.url, KEY_PEPPER: keyPepper };
}

const readAll = (stream: PassThrough): string => String(stream.read() ?? '');

/** Output of a finished command. */
export interface CliResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running command. */
export interface RunningCli {
  readonly process: ChildProcess;
  readonly ended: Promise<CliResult>;
}

type Settings = Readonly<Record<string, string | undefined>>;

/** Removes the settings of the test run from the environment of a command. */
const unsetSettings: Settings = {
  REDIS_URL: undefined,
  MONGODB_URL: undefined,
  BASE_URL: undefined,
  KEY_BRAND: undefined,
  KEY_PEPPER: undefined,
  CLOCK_OFFSET_MS: undefined,
};

/** Starts the compiled `leadscore` as a child process. */
export function startCli(words: readonly string[], settings: Settings = {}): RunningCli {
  const child = spawn(process.execPath, [projectFile('dist/scripts/cli/main.js'), ...words], {
    env: childEnvironment({ ...unsetSettings, ...settings }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const ended = Promise.all([closed, text(child.stdout), text(child.stderr)]).then(([exitCode, stdout, stderr]) => ({
    exitCode,
    stdout,
    stderr,
  }));
  return { process: child, ended };
}

/** Runs a command as a child process to its end. */
export const runCliProcess = (words: readonly string[], settings?: Settings): Promise<CliResult> =>
  startCli(words, settings).ended;
