import { messageOf } from '../../shared/errors.js';
import { CliError } from './cli-error.js';

const whenRead: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'it may not be read by you',
  EISDIR: 'it is a folder',
  ENOTDIR: 'part of its path is a file',
};

const whenWritten: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such folder',
  EACCES: 'you may not write there',
  EROFS: 'nothing can be written there',
  EISDIR: 'it is a folder',
  ENOTDIR: 'part of its path is a file',
  ENOSPC: 'no space is left on the disk',
  EFBIG: 'it may not grow any larger',
};

/** Why a file could not be read, in words where it is one of the usual reasons. */
export const fileProblem = (error: unknown): string => whenRead[codeOf(error)] ?? messageOf(error);

/** The `error.code` of a file that could not be written. */
export const outputUnwritable = 'output_unwritable';

/** A file could not be written; the message names it and says why. */
export const unwritable = (path: string, cause: unknown): CliError =>
  new CliError(`${path} cannot be written: ${whenWritten[codeOf(cause)] ?? messageOf(cause)}`, {
    code: outputUnwritable,
    cause,
  });

/** The code of a failed call to the system, such as ENOENT; empty where there is none. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';
