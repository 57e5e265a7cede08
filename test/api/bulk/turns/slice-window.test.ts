import { randomUUID } from 'node:crypto';
import { setImmediate as nextStep, setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { SliceWindow } from '../../../../api/bulk/turns/slice-window.js';

describe('the window of slices in flight', () => {
  let ids: string[];
  let heldMs: number;
  let workers: number;
  let nowMs: number;
  let window: SliceWindow;

  beforeEach(() => {
    [ids, heldMs, workers, nowMs] = [[], 0, 8, 0];
    const queues = { waitingHeads: async () => ({ ids, heldMs }), workersOf: () => workers };
    window = new SliceWindow(queues, () => nowMs);
  });

  /** Runs a slice and ends a turn, a second after the one before. */
  async function turn(): Promise<number> {
    nowMs += 1_000;
    await window.run('job', async () => undefined);
    window.endTurn();
    return window.size;
  }

  it('has two slices for each worker process of bulk jobs while no single or batch waits', async () => {
    expect(await turn()).to.equal(16);
    workers = 0;
    expect(window.size).to.equal(4);
  });

  it('has two for each at once when more processes start', async () => {
    workers = 0;
    expect(await turn()).to.equal(4);
    workers = 8;
    expect(window.size).to.equal(16);
  });

  it('records one slice for every two worker processes at once, and at least one', async () => {
    for (const [processes, most] of [
      [0, 1],
      [3, 1],
      [8, 4],
    ] as const) {
      workers = processes;
      const ends: (() => void)[] = [];
      const record = () => window.recordInTurn('job', () => new Promise<void>((resolve) => ends.push(resolve)));
      const recorded = Promise.all(Array.from({ length: 12 }, record));
      await nextStep();
      expect(ends).to.have.length(most);
      for (let ended = 0; ended < 12; ended += 1) {
        ends[ended]?.();
        await nextStep();
        expect(ends).to.have.length(Math.min(12, most + ended + 1));
      }
      await recorded;
    }
  });

  it('halves while a chunk waits for more than 15 ms, to one slice for each process', async () => {
    ids = ['a chunk that no worker takes'];
    expect(await turn()).to.equal(8);
    expect(await turn()).to.equal(8);
  });

  it('halves after a chunk that waited in a gateway', async () => {
    heldMs = 20;
    expect(await turn()).to.equal(8);
  });

  it('grows by one a turn when no chunk waits any more', async () => {
    heldMs = 20;
    await turn();
    heldMs = 0;
    expect([await turn(), await turn(), await turn()]).to.deep.equal([9, 10, 11]);
  });

  it('stays while chunks wait for 5 to 15 ms', async () => {
    heldMs = 20;
    await turn();
    heldMs = 10;
    expect([await turn(), await turn()]).to.deep.equal([8, 8]);
  });

  it('does not shrink by chunks that follow each other quickly', async () => {
    const replaced = async () => ({ ids: [randomUUID()], heldMs: 0 });
    const other = new SliceWindow({ waitingHeads: replaced, workersOf: () => 8 });
    for (let slice = 0; slice < 5; slice += 1) {
      await other.run('job', async () => undefined);
      await pause(25);
    }
    expect(other.size).to.equal(16);
  });

  it('begins the slices of a job in the order of calls, and no more than it has room for', async () => {
    workers = 1;
    const begun: number[] = [];
    let [inFlight, most] = [0, 0];
    const slice = (index: number) =>
      window.run('job', async () => {
        begun.push(index);
        inFlight += 1;
        most = Math.max(most, inFlight);
        await pause(5);
        inFlight -= 1;
      });
    await Promise.all(Array.from({ length: 12 }, (_, index) => slice(index)));
    expect(begun).to.deep.equal(Array.from({ length: 12 }, (_, index) => index));
    expect(most).to.equal(4);
  });
});
