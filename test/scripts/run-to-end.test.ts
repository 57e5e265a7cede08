import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { projectFile } from '../../shared/process/project-root.js';

const module = pathToFileURL(projectFile('dist/scripts/servers/run-to-end.js')).href;

const limitMs = 15_000;

/** Runs a command to its end. `work` is the body of its run; a timer keeps the process alive. */
async function runs(work: string, signal?: NodeJS.Signals) {
  const program = `
    import { runToEnd, stoppedAtEnd, UsageError } from ${JSON.stringify(module)};
    const say = (line) => process.stderr.write(line + '\\n');
    setInterval(() => undefined, 1_000);
    await runToEnd(async ({ onEnd, end }) => { ${work} }, 'It failed');`;
  // A command that does not end fails its test and is killed.
  const limit = { timeout: limitMs, killSignal: 'SIGKILL' } as const;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], limit);
  const [stdout, stderr] = [text(child.stdout), text(child.stderr)];
  if (signal !== undefined) child.stderr.once('data', () => child.kill(signal));
  const [exitCode] = await once(child, 'exit');
  return { exitCode, stdout: await stdout, stderr: (await stderr).split('\n').slice(0, -1) };
}

describe('runToEnd', () => {
  const undoThree = "for (const part of [1, 2, 3]) onEnd(async () => say('undone ' + part));";
  const undone = ['undone 3', 'undone 2', 'undone 1'];

  it('undoes everything, last first, flushes its output, and ends although a timer is running', async () => {
    const ended = await runs(`${undoThree} process.stdout.write('x'.repeat(3_000_000));`);
    expect(ended.exitCode).to.equal(0);
    expect(ended.stdout).to.have.length(3_000_000);
    expect(ended.stderr).to.deep.equal(undone);
  });

  it('continues with the other undos when one fails', async () => {
    const ended = await runs(`${undoThree} onEnd(async () => { throw new Error('it is stuck'); });`);
    expect(ended).to.deep.include({ exitCode: 0, stderr: ['it is stuck', ...undone] });
  });

  it('exits with 1 and the reason when the run fails, also after `end`, and with 2 for wrong usage', async () => {
    const failed = await runs(`${undoThree} throw new Error('no', { cause: new Error('because') });`);
    expect(failed).to.deep.include({ exitCode: 1, stderr: ['It failed: no', 'because', ...undone] });
    const late = await runs(`${undoThree} await end(); throw new Error('no');`);
    expect(late).to.deep.include({ exitCode: 1, stderr: [...undone, 'It failed: no'] });
    const wrong = await runs("throw new UsageError('there is no --quik');");
    expect(wrong).to.deep.include({ exitCode: 2, stderr: ['there is no --quik'] });
  });

  it('exits with the code that its run sets', async () => {
    expect((await runs('process.exitCode = 1;')).exitCode).to.equal(1);
  });

  it('undoes everything when it is interrupted, and prints no error of the interrupted run', async () => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      const ended = await runs(
        `${undoThree}
        await new Promise((_, reject) => {
          onEnd(async () => reject(new Error('a part has gone')));
          say('begun');
        });`,
        signal,
      );
      expect(ended, signal).to.deep.include({ exitCode: 130, stderr: ['begun', ...undone] });
    }
  });

  it('waits for a part that is still starting when it is interrupted, and stops it', async () => {
    const ended = await runs(
      `${undoThree}
      const part = { stop: async () => say('stopped') };
      const starting = new Promise((resolve) => {
        process.once('SIGINT', () => setImmediate(() => { say('up'); resolve(part); }));
      });
      say('begun');
      await stoppedAtEnd(onEnd, Promise.reject(new Error('it does not come up'))).catch(() => undefined);
      await stoppedAtEnd(onEnd, starting);
      await new Promise(() => undefined);`,
      'SIGINT',
    );
    expect(ended).to.deep.include({ exitCode: 130, stderr: ['begun', 'up', 'stopped', ...undone] });
  });
});
