import { readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import Mocha from 'mocha';
import { projectFile } from '../../../shared/process/project-root.js';
import { mochaHooks } from '../../../test/support/root-hooks.js';
import { useFirstTier } from '../../../test/support/tier.js';
import type { GroupEvent } from '../group-process.js';
import { processorTimeMs } from './processor-time.js';

/*
 * One of the Mocha processes of `npm test`. Its command line has the tier and the test files. Has the timeout and the
 * root hooks of .mocharc.json, and reports to the process that started it.
 */

const send = (event: GroupEvent): void => {
  process.send?.(event);
};

/** As in the command line; empty for a hook of no file, such as a root hook. A hook has no file of its own. */
function fileOf(test: Mocha.Runnable): string {
  const file = test.file ?? test.parent?.file;
  return file === undefined ? '' : relative(projectFile('.'), file);
}

const firstLineOf = (error: unknown): string => String(error).split('\n', 1)[0] ?? '';

/** Sends each result, and how long each file took with its hooks: from the start to the end of its outermost suites. */
function report(runner: Mocha.Runner): void {
  const now = () => ({ ms: performance.now(), cpuMs: processorTimeMs() });
  let began = now();
  runner.on('suite', (suite) => {
    if (suite.parent?.root) began = now();
  });
  runner.on('suite end', ({ parent, file = '' }) => {
    if (!parent?.root) return;
    const ended = now();
    const took = { ms: ended.ms - began.ms, cpuMs: ended.cpuMs - began.cpuMs };
    send({ kind: 'file', file: relative(projectFile('.'), file), took });
  });
  runner.on('pass', (test) => send({ kind: 'passed', file: fileOf(test) }));
  runner.on('pending', (test) => send({ kind: 'skipped', file: fileOf(test) }));
  runner.on('fail', (test, error: unknown) => {
    send({ kind: 'failed', file: fileOf(test), title: test.fullTitle(), error: firstLineOf(error) });
  });
  runner.on('end', () => send({ kind: 'reported' }));
}

// The runner has ended without stopping this process: no test may go on.
process.once('disconnect', () => process.exit(1));

const { timeout } = JSON.parse(await readFile(projectFile('.mocharc.json'), 'utf8')) as { timeout: number };
const mocha = new Mocha({ timeout, rootHooks: mochaHooks, reporter: 'spec' });
const [tier, ...files] = process.argv.slice(2);
if (tier === 'first') useFirstTier();
for (const file of files) mocha.addFile(projectFile(file));
await mocha.loadFilesAsync();
report(mocha.run((failures) => process.exit(failures > 0 ? 1 : 0)));
