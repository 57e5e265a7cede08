import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { projectFile } from '../../shared/project-root.js';

const moduleOf = (name: string): string =>
  JSON.stringify(pathToFileURL(projectFile(`dist/shared/${name}.js`)).href);

/** How a process ends that is sent these signals, and what it said. */
async function endOf(...signals: NodeJS.Signals[]) {
  const program = `
    import { Lifecycle } from ${moduleOf('lifecycle')};
    import { createLogger } from ${moduleOf('logger')};
    const lifecycle = new Lifecycle(createLogger('silent', 'test'));
    const pause = () => new Promise((resolve) => setTimeout(resolve, 500));
    lifecycle.onStop('first', async () => console.log('first stopped'));
    lifecycle.onStop('second', () => pause().then(() => console.log('second stopped')));
    lifecycle.listenForSignals();
    setInterval(() => undefined, 1_000);
    console.log('ready');`;
  const limit = { timeout: 15_000, killSignal: 'SIGKILL' } as const;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], limit);
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
});
