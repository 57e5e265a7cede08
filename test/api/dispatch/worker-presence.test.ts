import { expect } from 'chai';
import { WorkerPresence } from '../../../api/dispatch/worker-presence.js';
import type { Lane } from '../../../shared/contract/lanes.js';

describe('the presence of worker processes', () => {
  let nowMs: number;
  let presence: WorkerPresence;

  beforeEach(() => {
    nowMs = 1_000_000;
    presence = new WorkerPresence({ nowMs: () => nowMs });
  });

  /** Reads after a time that the lanes have processes, and no others. */
  const readAfter = (ms: number, ...running: readonly Lane[]): void => {
    nowMs += ms;
    presence.noteRead((lane) => running.includes(lane));
  };
  const refused = () => (['singles', 'batches', 'bulk'] as const).filter((lane) => presence.isWithout(lane));

  it('is a problem at the start until a process of singles and one of batches were seen', () => {
    const both = 'no worker process of singles and batches is running';
    expect([presence.problem(false), presence.problem(true)]).to.deep.equal([both, both]);
    readAfter(0, 'batches', 'bulk');
    const single = 'no worker process of singles is running';
    expect([presence.problem(false), presence.problem(true)]).to.deep.equal([single, single]);
    readAfter(500, 'singles', 'batches');
    expect([presence.problem(false), presence.problem(true)]).to.deep.equal([undefined, undefined]);
  });

  it('is a problem after 10 s without a process, except for those who ignore lost workers', () => {
    readAfter(0, 'singles', 'batches');
    readAfter(4_000, 'singles');
    readAfter(5_000, 'singles');
    readAfter(4_900, 'singles');
    expect(presence.problem(false)).to.equal(undefined);
    expect(refused()).to.deep.equal([]);
    readAfter(100, 'singles');
    expect(presence.problem(false)).to.equal('no worker process of batches is running');
    expect(presence.problem(true)).to.equal(undefined);
    expect(refused()).to.deep.equal(['batches']);
    readAfter(500, 'singles', 'batches');
    expect(presence.problem(false)).to.equal(undefined);
    expect(refused()).to.deep.equal([]);
  });

  it('refuses calls of a lane that had no process for 10 s since the start, but never bulk jobs', () => {
    for (let ms = 0; ms <= 10_000; ms += 500) {
      expect(refused(), `after ${ms} ms`).to.deep.equal([]);
      readAfter(ms === 0 ? 0 : 500);
    }
    expect(refused()).to.deep.equal(['singles', 'batches']);
  });

  it('counts neither the time in which Redis could not be read, nor a long stall of the gateway', () => {
    readAfter(0, 'singles', 'batches');
    nowMs += 60_000;
    presence.noteFailure();
    readAfter(60_000);
    expect(refused()).to.deep.equal([]);
    nowMs += 60_000;
    presence.noteFailure();
    readAfter(60_000);
    expect(refused()).to.deep.equal([]);
    readAfter(60_000);
    readAfter(4_999);
    expect(refused()).to.deep.equal([]);
    readAfter(1);
    expect(refused()).to.deep.equal(['singles', 'batches']);
  });
});
