import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { projectFile } from '../../shared/project-root.js';
import { leaveOut } from '../support/leave-out.js';
import { runProgram } from '../support/run-program.js';

const moduleOf = (name: string): string =>
  JSON.stringify(pathToFileURL(projectFile(`dist/shared/${name}.js`)).href);

const limit = { timeout: 15_000, killSignal: 'SIGKILL' } as const;

const programWith = (logLevel: string): string => `
    import { Lifecycle } from ${moduleOf('lifecycle')};
    import { createLogger } from ${moduleOf('logger')};
    const lifecycle = new Lifecycle(createLogger('${logLevel}', 'test'));
    const pause = () => new Promise((resolve) => setTimeout(resolve, 500));
    lifecycle.onStop('first', async () => console.log('first stopped'));
    lifecycle.onStop('second', () => pause().then(() => console.log('second stopped')));
    lifecycle.listenForSignals();
    setInterval(() => undefined, 1_000);
    console.log('ready');`;

/** Has a process on a terminal of its own and closes it; standard output is how it ended. */
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

/** How a process ends that is sent these signals, and what it said. */
async function endOf(...signals: NodeJS.Signals[]) {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', programWith('silent')], limit);
  const output = text(child.stdout);
  child.stdout.once('data', async () => {
    for (const signal of signals) {
      child.kill(signal);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  });
  const [exitCode, signal] = await once(child, 'exit');
  return { how: exitCode ?? signal, said: (await output).trimEnd().split('\n') };
}

describe('a process that is told to end', () => {
  const all = ['ready', 'second stopped', 'first stopped'];

  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const)
    it(`stops what it has started, the last first, on ${signal}; at once when it comes again`, async () => {
      expect(await endOf(signal)).to.deep.equal({ how: 0, said: all });
      expect(await endOf(signal, signal)).to.deep.equal({ how: 1, said: ['ready'] });
    });

  it('stops in order when another of these signals comes meanwhile', async () => {
    expect(await endOf('SIGHUP', 'SIGTERM')).to.deep.equal({ how: 0, said: all });
  });

  it('stops in order when its terminal is closed, and what it logs is lost', async function () {
    const { exitCode: version } = await runProgram('python3', ['--version'], { limitMs: 5_000 });
    if (version !== 0)
      leaveOut(this, 'there is no python3 to open a terminal', 'install Python 3.9 or later');
    const node = [process.execPath, '--input-type=module', '--eval', programWith('info')];
    const { output } = await runProgram('python3', ['-c', closedTerminal, ...node], { limitMs: 15_000 });
    expect(output).to.equal('0\n');
  });
});
