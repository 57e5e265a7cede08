import type { Clock } from '../../shared/clock.js';
import type { Config } from '../../shared/config.js';
import { wrapText } from '../terminal/wrap-text.js';
import type { Connections } from './connections.js';

/** Where a command writes: standard output and standard error. */
export type OutputStream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

/** What every command works with. */
export interface CliContext {
  readonly config: Config;
  readonly clock: Clock;
  readonly connections: Connections;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** Whether a person who is asked says yes; yes where there is nobody to ask. */
  confirm(question: string): Promise<boolean>;
  /** Prints what a command has to say once its work is done, in the form asked for, and keeps its exit code. */
  present(options: { readonly json?: boolean }, work: Promise<CommandResult>): Promise<void>;
}

/** What a command has to say when it is done. */
export interface CommandResult {
  /** The one document of `--json`. */
  readonly document: unknown;
  /** What a person reads, without the last newline. */
  readonly text: string;
  /** Other than 0 when the command did its work and the answer is no. */
  readonly exitCode?: number;
  /** Prints nothing: everything has been said. */
  readonly silent?: boolean;
}

/** Characters of a line: the terminal's, 80 where there is none, never more than 120. */
export const lineWidth = (stream: OutputStream): number =>
  stream.isTTY === true ? Math.min(120, Math.max(60, stream.columns || 80)) : 80;

/** A sentence for a stream: on a terminal broken at spaces, further lines set in; else one line. */
export const wrappedFor = (stream: OutputStream, text: string): string =>
  stream.isTTY === true ? wrapText(text, lineWidth(stream) - 2).replaceAll('\n', '\n  ') : text;

/** The exit code of a command that did its work and whose answer may be no. */
export const exitWhen = (failed: boolean): Pick<CommandResult, 'exitCode'> => (failed ? { exitCode: 1 } : {});
