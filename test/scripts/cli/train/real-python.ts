import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CliError } from '../../../../scripts/cli/context/cli-error.js';
import { trainingPython } from '../../../../scripts/cli/train/python-environment.js';
import { projectFile } from '../../../../shared/process/project-root.js';
import { notInstalled } from '../../../support/leave-out.js';

/** Time limit of a hook that calls `realPython`: pip may download 410 MB. */
export const installLimitMs = 300_000;

/** Time limit of a training on some thousand leads, on a busy machine. */
export const trainingLimitMs = 300_000;

/**
 * The interpreter that `leadscore train` itself uses, with its packages. Leaves the tests out if it cannot be made.
 * @returns its path
 */
export async function realPython(test: Mocha.Context): Promise<string> {
  const { signal } = new AbortController();
  return await trainingPython({ say: () => undefined, signal }).catch((error: unknown) => {
    if (!(error instanceof CliError)) throw error;
    notInstalled(test, { reason: error.message, remedy: 'install Python 3.10 or later, and give pip an index' });
  });
}

/**
 * A program for `--python`. It trains as that interpreter does, and then writes what the model in memory says of raw
 * rows (see keep_model.py).
 * @param folder for the program and its results
 */
export async function keepingPython(python: string, folder: string): Promise<string> {
  const path = join(folder, 'python');
  const script = projectFile('test/scripts/cli/train/keep_model.py');
  const lines = [
    '#!/bin/sh',
    `if [ "$1" = -m ]; then shift 2; exec '${python}' '${script}' '${folder}' "$@"; fi`,
    `exec '${python}' "$@"`,
  ];
  await writeFile(path, `${lines.join('\n')}\n`);
  await chmod(path, 0o700);
  return path;
}
