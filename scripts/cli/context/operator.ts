import { userInfo } from 'node:os';
import { createInterface } from 'node:readline';
import type { OutputStream } from './cli-context.js';
import { CliError, exitCodes, usageError } from './cli-error.js';

/** Standard input, possibly a terminal. */
export type InputStream = NodeJS.ReadableStream & { readonly isTTY?: boolean };

/** Streams for the question. The first one that is a terminal is used. */
export interface Outputs {
  readonly stderr: OutputStream;
  readonly stdout: OutputStream;
}

/**
 * Asks the user a yes/no question. Only `y` and `yes` count as yes; an empty line and Ctrl-D count as no.
 * @returns true without a question when standard input is not a terminal
 * @throws CliError with exit code 130 on Ctrl-C, and 2 when no output is a terminal that could show the question
 */
export async function confirm(
  question: string,
  { stdin, stderr, stdout }: Outputs & { readonly stdin: InputStream | undefined },
): Promise<boolean> {
  if (stdin?.isTTY !== true) return true;
  const output = [stderr, stdout].find((stream) => stream.isTTY === true);
  if (output === undefined)
    throw usageError('Cannot ask for confirmation: no output is a terminal. Add --yes to skip the question.');
  const terminal = createInterface({ input: stdin, output });
  try {
    const line = await new Promise<string | undefined>((resolve, reject) => {
      terminal.once('close', () => resolve(undefined));
      terminal.once('SIGINT', () => reject(interrupted()));
      terminal.question(`${question} [y/N] `, resolve);
    });
    if (line === undefined) output.write('\n');
    return /^y(es)?$/i.test(line?.trim() ?? '');
  } catch (error) {
    output.write('\n');
    throw error;
  } finally {
    terminal.close();
  }
}

const interrupted = (): CliError =>
  new CliError('Interrupted: nothing was changed.', { code: 'interrupted', exitCode: exitCodes.interrupted });

/**
 * The user who runs the command.
 * @param account throws when the user has no account, as in a container run with `--user`
 * @returns the account name, or `uid` and the user id
 */
export function operatorName(account: () => { readonly username: string } = userInfo): string {
  try {
    return account().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
