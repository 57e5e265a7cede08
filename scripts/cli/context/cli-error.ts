import { messageOf } from '../../../shared/contract/errors.js';
import type { ApiFailure } from '../calls/api-reply.js';

/** Exit codes of the command line. */
export const exitCodes = { done: 0, failed: 1, usage: 2, interrupted: 130 } as const;

export interface CliErrorOptions {
  /** Stable code for programs: `error.code` in `--json`. */
  readonly code: string;
  /** Default: `exitCodes.failed`. */
  readonly exitCode?: number;
  /** Further members of the error object of `--json`. */
  readonly details?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** A failed command. Only the message is printed, so it must name the problem and the remedy. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly code: string;
  readonly exitCode: number;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(message: string, { code, exitCode = exitCodes.failed, details = {}, cause }: CliErrorOptions) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.exitCode = exitCode;
    this.details = details;
  }
}

/** Invalid arguments or options, exit code 2. */
export const usageError = (message: string): CliError =>
  new CliError(message, { code: 'usage', exitCode: exitCodes.usage });

/** The user answered a prompt with no. */
export const declined = (message: string): CliError => new CliError(message, { code: 'declined' });

/** @param hint the command that lists the existing ones */
export const notFound = (what: string, hint: string): CliError =>
  new CliError(`There is no ${what}. See: npx leadscore ${hint}`, { code: 'not_found' });

const readProblems: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a folder',
  ENOTDIR: 'part of its path is a file',
};

const writeProblems: Readonly<Record<string, string>> = {
  ENOENT: 'no such folder',
  EACCES: 'permission denied',
  EROFS: 'the file system is read-only',
  EISDIR: 'it is a folder',
  ENOTDIR: 'part of its path is a file',
  ENOSPC: 'the disk is full',
  EFBIG: 'the file size limit is reached',
};

/** The reason why a file cannot be read. */
export const fileProblem = (error: unknown): string => readProblems[codeOf(error)] ?? messageOf(error);

/** `error.code` when an output file cannot be written. */
const outputUnwritable = 'output_unwritable';

export const unwritable = (path: string, cause: unknown): CliError =>
  new CliError(`Cannot write ${path}: ${writeProblems[codeOf(cause)] ?? messageOf(cause)}`, {
    code: outputUnwritable,
    cause,
  });

/** The code of a system error, such as ENOENT, or an empty string. */
export const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

/** The error that the command prints for a failed call. */
export function refusal({ code, message, status, docsUrl, requestId }: ApiFailure): CliError {
  const docs = docsUrl === undefined ? '' : `\nSee ${docsUrl}`;
  return new CliError(
    status === 0 ? withCapital(message) : `${withCapital(message)} (${code}, status ${status})${docs}`,
    {
      code,
      details: {
        status,
        ...(docsUrl === undefined ? {} : { docs_url: docsUrl }),
        ...(requestId === undefined ? {} : { request_id: requestId }),
      },
    },
  );
}

const withCapital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
