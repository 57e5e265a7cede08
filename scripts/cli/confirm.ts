import { createInterface } from 'node:readline';
import type { OutputStream } from './cli-context.js';

/** Where a person types. */
export type InputStream = NodeJS.ReadableStream & { readonly isTTY?: boolean };

/**
 * Asks a person at a terminal a question that only `y` or `yes` says yes to: not a line that is empty, Ctrl-D or Ctrl-C.
 * Where either end is not a terminal there is nobody to ask, and the answer is yes.
 */
export async function confirm(
  question: string,
  { stdin, stderr }: { readonly stdin: InputStream | undefined; readonly stderr: OutputStream },
): Promise<boolean> {
  if (stdin?.isTTY !== true || stderr.isTTY !== true) return true;
  const terminal = createInterface({ input: stdin, output: stderr });
  try {
    const line = await new Promise<string | undefined>((resolve) => {
      terminal.once('close', () => resolve(undefined));
      terminal.question(`${question} [y/N] `, resolve);
    });
    if (line === undefined) stderr.write('\n');
    return /^y(es)?$/i.test(line?.trim() ?? '');
  } finally {
    terminal.close();
  }
}
