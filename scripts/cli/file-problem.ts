import { messageOf } from '../../shared/errors.js';

const inWords: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'it may not be read by you',
  EISDIR: 'it is a folder',
};

/** Why a file could not be read, in words where it is one of the usual reasons. */
export function fileProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return inWords[code] ?? messageOf(error);
}
