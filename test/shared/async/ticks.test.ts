import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { everyTick, machineNowMs } from '../../../shared/async/ticks.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { eventually } from '../../support/eventually.js';

describe('everyTick', () => {
  it('runs works of one interval, and of its multiples, in one wake of the thread', async () => {
    const wakes: string[][] = [];
    let current: string[] | undefined;
    const note = (name: string) => () => {
      if (current === undefined) {
        const names: string[] = [];
        current = names;
        wakes.push(names);
        queueMicrotask(() => {
          current = undefined;
        });
      }
      current.push(name);
    };
    const ends = [everyTick(40, note('a'))];
    // Another phase: intervals of Node would keep it.
    await new Promise((resolve) => setTimeout(resolve, 15));
    ends.push(everyTick(40, note('b')), everyTick(80, note('double')));
    await eventually(() => expect(wakes.flat().filter((name) => name === 'double')).to.have.length.at.least(3));
    for (const end of ends) end();
    for (const names of wakes.slice(1)) expect(names.slice(0, 2)).to.deep.equal(['a', 'b']);
    expect(wakes.filter((names) => names.includes('double')).every(({ length }) => length === 3)).to.equal(true);
  });

  it('leaves out ticks that the thread has missed', async () => {
    let ticks = 0;
    const end = everyTick(10, () => {
      ticks += 1;
    });
    await eventually(() => expect(ticks).to.be.greaterThan(0));
    const before = ticks;
    const untilMs = performance.now() + 100;
    while (performance.now() < untilMs);
    await new Promise((resolve) => setImmediate(resolve));
    expect(ticks - before).to.be.at.most(2);
    end();
  });

  it('runs no work after its end, also when another work of the same tick ends it', async () => {
    let ended = 0;
    const ends: (() => void)[] = [];
    ends.push(
      everyTick(10, () => ends[1]?.()),
      everyTick(10, () => {
        ended += 1;
      }),
    );
    let others = 0;
    ends.push(
      everyTick(10, () => {
        others += 1;
      }),
    );
    await eventually(() => expect(others).to.be.greaterThan(2));
    for (const end of ends) end();
    expect(ended).to.equal(0);
    const before = others;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(others).to.equal(before);
  });

  it('ticks at the same time in all processes of the machine', async () => {
    const [everyMs, nearMs] = [400, 40];
    const ticksMs: number[] = [];
    const end = everyTick(everyMs, () => ticksMs.push(machineNowMs()));
    await eventually(() => expect(ticksMs.filter((ms) => (ms + 1) % everyMs < nearMs)).to.have.length.at.least(2));
    end();
    const program =
      `import(${JSON.stringify(projectFile('dist/shared/async/ticks.js'))})` +
      '.then(({ machineNowMs }) => process.stdout.write(String(machineNowMs())))';
    const before = machineNowMs();
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', program]);
    expect(Number(stdout)).to.be.within(before, machineNowMs());
  });
});
