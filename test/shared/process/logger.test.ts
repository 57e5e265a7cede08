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

/** Runs the program with its standard output redirected by a shell; gives its exit code and standard error. */
const ended = (redirection: string) =>
  runProgram(
    'sh',
    ['-c', `exec "$@" ${redirection}`, 'sh', process.execPath, '--input-type=module', '--eval', program],
    { limitMs: 15_000 },
  );

describe('createLogger', () => {
  it('writes each line to standard output', async () => {
    const { exitCode, output } = await ended('');
    expect(exitCode).to.equal(3);
    expect(output).to.match(/"msg":"one"\}\n.*"msg":"two"\}\nwent on$/);
  });

  it('neither ends nor blocks the process while the disk of its log is full', async function () {
    if (!existsSync(full)) leaveOut(this, `there is no ${full}`, 'run it on Linux');
    expect(await ended(`>${full}`)).to.deep.equal({ exitCode: 3, output: 'went on' });
  });

  it('does not end the process when the reader of its log has closed the pipe, or standard output is closed', async () => {
    for (const redirection of ['| true', '>&-'])
      expect((await ended(`${redirection}`)).output, redirection).to.equal('went on');
  });
});
