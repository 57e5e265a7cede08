import { createInterface } from 'node:readline';
import type { OutputStream } from './cli-context.js';
import { CliError, exitCodes, usageError } from './cli-error.js';

/** Where a person types. */
export type InputStream = NodeJS.ReadableStream & { readonly isTTY?: boolean };

/** Where a question can be read: whichever of the two is a terminal, standard error before standard output. */
export interface Outputs {
  readonly stderr: OutputStream;
  readonly stdout: OutputStream;
}

/**
 * Asks a person at a terminal a question that only `y` or `yes` says yes to: not a line that is empty, nor Ctrl-D. Where
 * nobody types at a terminal there is nobody to ask, and the answer is yes.
 * @throws CliError of exit code 130 on Ctrl-C; of exit code 2 when somebody may type but would not see the question
 */
export async function confirm(
  question: string,
  { stdin, stderr, stdout }: Outputs & { readonly stdin: InputStream | undefined },
): Promise<boolean> {
  if (stdin?.isTTY !== true) return true;
  const output = [stderr, stdout].find((stream) => stream.isTTY === true);
  if (output === undefined)
    throw usageError(
      'The question cannot be shown: neither output is a terminal. Add --yes to go ahead without it.',
    );
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
