import { httpConnections } from '../../calls/http-connections.js';
import { realWait } from '../../calls/patience.js';
import { readKey, readUrl } from '../../context/api-access.js';
import type { CliContext } from '../../context/cli-context.js';
import { CliError, exitCodes } from '../../context/cli-error.js';
import { untilInterrupted } from '../../context/file-run.js';
import { JobClient } from '../../jobs/job-client.js';
import { JobScreen } from '../../jobs/job-screen.js';

/** Parsed options of every command that calls the API of jobs. */
export interface AccessOptions {
  readonly key: string;
  readonly url: string;
  readonly json?: boolean;
}

/** The means of a command that calls the API of jobs. */
export interface JobDesk {
  readonly client: JobClient;
  readonly screen: JobScreen;
}

/**
 * Runs a command that calls the API of jobs.
 * @param stopped the sentence for a command that Ctrl-C stops; it says how to come back
 * @throws CliError with exit code 130 when the command is stopped
 */
export async function withJobs<Result>(
  context: CliContext,
  options: AccessOptions,
  work: (desk: JobDesk) => Promise<Result>,
  stopped: () => string = () => 'Stopped.',
): Promise<Result> {
  const apiKey = await readKey(options.key);
  const baseUrl = readUrl(options.url);
  const connections = httpConnections({ connections: 3 });
  const screen = new JobScreen(context.stderr, options.json === true);
  return await untilInterrupted(async (signal) => {
    const client = new JobClient({
      baseUrl,
      apiKey,
      send: connections.send,
      signal,
      wait: realWait,
      now: () => performance.now(),
      onWait: (why) => screen.waiting(why),
    });
    try {
      return await work({ client, screen });
    } catch (error) {
      if (!signal.aborted) throw error;
      screen.stop();
      throw new CliError(stopped(), { code: 'interrupted', exitCode: exitCodes.interrupted });
    } finally {
      screen.stop();
      connections.close();
    }
  });
}

/** The words of a command line about a job that the user can run. The key itself is not repeated. */
export function jobCommand(
  words: string,
  { key, url }: AccessOptions,
  { baseUrl, port }: CliContext['config'],
): string {
  const isDefault = url === (baseUrl ?? `http://127.0.0.1:${port}`);
  return `npx leadscore job ${words} --key ${key.startsWith('@') ? key : 'KEY'}${isDefault ? '' : ` --url ${url}`}`;
}
