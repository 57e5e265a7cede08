import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { projectFile } from '../../../shared/process/project-root.js';
import { leaveOut } from '../../support/leave-out.js';
import { runProgram } from '../../support/run-program.js';

const loggerModule = JSON.stringify(pathToFileURL(projectFile('dist/shared/process/logger.js')).href);
const full = '/dev/full';

const program = `
  import { createLogger } from ${loggerModule};
  const logger = createLogger('info', 'test');
  logger.info('one');
  setTimeout(() => {
    logger.info('two');
    process.stderr.write('went on');
    process.exit(3);
  }, 100);`;

/** How a process ends whose standard output goes to a shell's redirection, and what it said on standard error. */
const ended = (redirection: string) =>
  runProgram(
    'sh',
    ['-c', `exec "$@" ${redirection}`, 'sh', process.execPath, '--input-type=module', '--eval', program],
    { limitMs: 15_000 },
  );

describe('a process that logs', () => {
  it('writes each line to standard output', async () => {
    const { exitCode, output } = await ended('');
    expect(exitCode).to.equal(3);
    expect(output).to.match(/"msg":"one"\}\n.*"msg":"two"\}\nwent on$/);
  });

  it('goes on, and ends when it is to, while the disk that its log is on is full', async function () {
    if (!existsSync(full)) leaveOut(this, `there is no ${full}`, 'run it on Linux');
    expect(await ended(`>${full}`)).to.deep.equal({ exitCode: 3, output: 'went on' });
  });

  it('goes on when whoever read its log has gone, or there never was anybody', async () => {
    for (const redirection of ['| true', '>&-'])
      expect((await ended(`${redirection}`)).output, redirection).to.equal('went on');
  });
});
