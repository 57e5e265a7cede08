import { userInfo } from 'node:os';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
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
  return /^y(es)?$/i.test((await answerTo(`${question} [y/N] `, stdin, output))?.trim() ?? '');
}

/**
 * Asks the user for a line of text.
 * @returns undefined when standard input or standard error is no terminal, and after Ctrl-D
 * @throws CliError with exit code 130 on Ctrl-C
 */
export async function askLine(
  question: string,
  { stdin, stderr }: Pick<Outputs, 'stderr'> & { readonly stdin: InputStream | undefined },
): Promise<string | undefined> {
  return stdin?.isTTY === true && stderr.isTTY === true ? await answerTo(question, stdin, stderr) : undefined;
}

/** A line that the user types; undefined after Ctrl-D. */
async function answerTo(question: string, stdin: InputStream, output: OutputStream): Promise<string | undefined> {
  const terminal = createInterface({ input: stdin, output });
  try {
    const line = await new Promise<string | undefined>((resolve, reject) => {
      terminal.once('close', () => resolve(undefined));
      terminal.once('SIGINT', () => reject(interrupted()));
      terminal.question(question, resolve);
    });
    if (line === undefined) output.write('\n');
    return line;
  } catch (error) {
    output.write('\n');
    throw error;
  } finally {
    terminal.close();
  }
}

/** More than any line with a secret has. */
const maxSecretLine = 1_000;

/**
 * Reads the first line that is not blank. A secret is no argument of a command, because shells and lists of processes
 * keep these. A terminal does not show what is typed.
 * @throws CliError with exit code 130 on Ctrl-C, and 2 without a line, or with one that is too long
 */
export async function readSecret(
  question: string,
  { stdin, stderr }: Pick<Outputs, 'stderr'> & { readonly stdin: InputStream | undefined },
): Promise<string> {
  const isTyped = stdin?.isTTY === true;
  if (isTyped) stderr.write(question);
  const line = await firstLine(stdin, isTyped);
  if (isTyped) stderr.write('\n');
  if (line === undefined || line.length > maxSecretLine)
    throw usageError('Standard input has no line with a secret. Paste it, or send it: npx leadscore key find < FILE');
  return line;
}

async function firstLine(stdin: InputStream | undefined, isTyped: boolean): Promise<string | undefined> {
  if (stdin === undefined) return undefined;
  const hidden = new Writable({ write: (_bytes, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: hidden, terminal: isTyped });
  try {
    return await new Promise<string | undefined>((resolve, reject) => {
      lines.on('line', (line) => line.trim() !== '' && resolve(line.trim()));
      lines.once('close', () => resolve(undefined));
      lines.once('SIGINT', () => reject(interrupted()));
    });
  } finally {
    lines.close();
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
