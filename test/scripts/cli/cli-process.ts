import { type ChildProcess, spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { childEnvironment } from '../../../shared/config.js';
import { projectFile } from '../../../shared/project-root.js';

/** What a command left behind when it ended. */
export interface CliResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command under way. */
export interface RunningCli {
  readonly process: ChildProcess;
  readonly ended: Promise<CliResult>;
}

type Settings = Readonly<Record<string, string | undefined>>;

/** Nothing that is set where the tests run reaches a command. */
const notSet: Settings = {
  REDIS_URL: undefined,
  MONGODB_URL: undefined,
  BASE_URL: undefined,
  KEY_BRAND: undefined,
  KEY_PEPPER: undefined,
  CLOCK_OFFSET_MS: undefined,
};

/** Starts `leadscore` as a process of its own, as compiled. */
export function startCli(words: readonly string[], settings: Settings = {}): RunningCli {
  const child = spawn(process.execPath, [projectFile('dist/scripts/cli/main.js'), ...words], {
    env: childEnvironment({ ...notSet, ...settings }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const ended = Promise.all([closed, text(child.stdout), text(child.stderr)]).then(
    ([exitCode, stdout, stderr]) => ({ exitCode, stdout, stderr }),
  );
  return { process: child, ended };
}

/** Runs a command as a process of its own to its end. */
export const runCliProcess = (words: readonly string[], settings?: Settings): Promise<CliResult> =>
  startCli(words, settings).ended;
