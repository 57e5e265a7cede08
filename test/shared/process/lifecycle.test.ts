import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { projectFile } from '../../../shared/process/project-root.js';
import { leaveOut } from '../../support/leave-out.js';
import { runProgram } from '../../support/run-program.js';

const moduleOf = (name: string): string =>
  JSON.stringify(pathToFileURL(projectFile(`dist/shared/process/${name}.js`)).href);

const limit = { timeout: 15_000, killSignal: 'SIGKILL' } as const;

/** A program whose second part takes `stopMs` to stop, and prints when it begins to. */
const programWith = (logLevel: string, stopMs = 500): string => `
    import { Lifecycle } from ${moduleOf('lifecycle')};
    import { createLogger } from ${moduleOf('logger')};
    const lifecycle = new Lifecycle(createLogger('${logLevel}', 'test'));
    const pause = () => new Promise((resolve) => setTimeout(resolve, ${stopMs}));
    lifecycle.onStop('first', async () => console.log('first stopped'));
    lifecycle.onStop('second', () => {
      console.log('stopping');
      return pause().then(() => console.log('second stopped'));
    });
    lifecycle.listenForSignals();
    setInterval(() => undefined, 1_000);
    console.log('ready');`;

/** Runs a process on its own terminal, closes the terminal, and prints the exit code. */
const closedTerminal = `
import os, pty, signal, sys, time
child, terminal = pty.fork()
if child == 0: os.execv(sys.argv[1], sys.argv[1:])
said = b''
while b'ready' not in said: said += os.read(terminal, 4096)
os.close(terminal)
for _ in range(100):
    ended, status = os.waitpid(child, os.WNOHANG)
    if ended: break
    time.sleep(0.1)
else: os.kill(child, signal.SIGKILL)
print(os.waitstatus_to_exitcode(status) if ended else 'it goes on')`;

/** The exit of a process and its output. The second signal is sent when the process has begun to stop. */
async function endOf(signals: readonly NodeJS.Signals[], stopMs?: number) {
  const program = programWith('silent', stopMs);
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], limit);
  const said: string[] = [];
  const left = [...signals];
  const lines = createInterface(child.stdout).on('line', (line) => {
    said.push(line);
    if (line === 'ready' || line === 'stopping') child.kill(left.shift() ?? 0);
  });
  const [[exitCode, signal]] = await Promise.all([once(child, 'exit'), once(lines, 'close')]);
  return { how: exitCode ?? signal, said };
}

describe('Lifecycle', () => {
  const all = ['ready', 'stopping', 'second stopped', 'first stopped'];
  const longMs = 60_000;

  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    it(`stops its parts in reverse order on ${signal}, and ends at once when the signal comes again`, async () => {
      expect(await endOf([signal])).to.deep.equal({ how: 0, said: all });
      expect(await endOf([signal, signal], longMs)).to.deep.equal({ how: 1, said: ['ready', 'stopping'] });
    });

  it('still stops in order when a different signal arrives meanwhile', async () => {
    expect(await endOf(['SIGHUP', 'SIGTERM'])).to.deep.equal({ how: 0, said: all });
  });

  it('stops in order when its terminal is closed, although its log lines are lost', async function () {
    const checkPty = ['-c', 'import os, pty; os.waitstatus_to_exitcode'];
    if ((await runProgram('python3', checkPty, { limitMs: 5_000 })).exitCode !== 0)
      leaveOut(this, 'there is no python3 that can open a terminal', 'install Python 3.9 or later');
    const node = [process.execPath, '--input-type=module', '--eval', programWith('info')];
    const { output } = await runProgram('python3', ['-c', closedTerminal, ...node], { limitMs: 15_000 });
    expect(output).to.equal('0\n');
  });
});
