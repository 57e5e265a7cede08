import type { OperatorConfig } from '../../../shared/config/config.js';
import type { Clock } from '../../../shared/contract/dates.js';
import { wrapText } from '../output/wrap-text.js';
import type { Connections } from './connections.js';

/** A stream that a command writes to, such as standard output. */
export type OutputStream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

/** Dependencies of every command. */
export interface CliContext {
  readonly config: OperatorConfig;
  readonly clock: Clock;
  readonly connections: Connections;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** Whether the user can be asked. */
  readonly canAsk: boolean;
  /** Asks the user a yes/no question. Returns true without a terminal. */
  confirm(question: string): Promise<boolean>;
  /** Asks for a line of text. Undefined without a terminal. See `askLine`. */
  ask(question: string): Promise<string | undefined>;
  /** Reads a secret from standard input. See `readSecret`. */
  readSecret(question: string): Promise<string>;
  /** Awaits the command, prints its result as text or JSON and stores its exit code. */
  present(options: { readonly json?: boolean }, work: Promise<CommandResult>): Promise<void>;
}

/** Result of a command. */
export interface CommandResult {
  /** The single document that `--json` prints. */
  readonly document: unknown;
  /** Text output, without the final newline. */
  readonly text: string;
  /** Not 0 when the command ran but its answer is negative. */
  readonly exitCode?: number;
  /** Prints nothing, because the command has already written its output. */
  readonly silent?: boolean;
}

/** Line width in characters: the terminal's, limited to 60-120, or 80 without a terminal. */
export const lineWidth = (stream: OutputStream): number =>
  stream.isTTY === true ? Math.min(120, Math.max(60, stream.columns || 80)) : 80;

/** Wraps a sentence for a terminal, with an indent of two spaces. For other streams it stays on one line. */
export const wrappedFor = (stream: OutputStream, text: string): string =>
  stream.isTTY === true ? wrapText(text, lineWidth(stream) - 2).replaceAll('\n', '\n  ') : text;

/** Adds exit code 1 to the result when `failed`. */
export const exitWhen = (failed: boolean): Pick<CommandResult, 'exitCode'> => (failed ? { exitCode: 1 } : {});
