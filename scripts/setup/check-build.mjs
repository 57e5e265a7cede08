import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { sourceFilesOf } from './build.mjs';
import { SetupProblem } from './step.mjs';

/**
 * Whether there is something to start: what the sources were compiled to. Says so when they have changed since.
 * @param {object} options
 * @param {string} options.root
 * @param {(line: string) => void} options.say
 * @throws SetupProblem when nothing was compiled yet, or the packages are not installed
 */
export async function checkBuild({ root, say }) {
  const [compiledMs, packagesMs] = await Promise.all([
    changedMs(join(root, 'dist', 'scripts', 'start.js')),
    changedMs(join(root, 'node_modules')),
  ]);
  if (compiledMs === undefined || packagesMs === undefined)
    throw new SetupProblem('Leadscore is not set up yet: run "npm run setup" first.');
  const sources = await sourceFilesOf(root, ['api', 'worker', 'shared', 'scripts']);
  const times = await Promise.all(sources.map(changedMs));
  if (times.some((timeMs) => timeMs > compiledMs))
    say(
      'The sources have changed since dist/ was compiled, which is what runs: "npm run setup" compiles them.',
    );
}

/** When a file was written last; undefined when it is not there. */
async function changedMs(path) {
  const found = await stat(path).catch(() => undefined);
  return found?.mtimeMs;
}
