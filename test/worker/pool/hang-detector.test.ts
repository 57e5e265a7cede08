import { expect } from 'chai';
import { HangDetector } from '../../../worker/pool/hang-detector.js';
import type { PoolChild } from '../../../worker/pool/pool-child.js';
import { eventually } from '../../support/eventually.js';

const logger = { error: () => undefined } as unknown as ConstructorParameters<typeof HangDetector>[0]['logger'];
const [checkIntervalMs, hangLimitMs] = [200, 1_000];

/** A process of singles, of which a SIGKILL only notes its time. */
function fakeChild() {
  const child = {
    ...{ lane: 'singles', pid: process.pid, isReady: true, isHung: false, wasKilled: false },
    lastHeartbeatMs: performance.now(),
    killedMs: 0,
    noteHeartbeat: () => {
      child.lastHeartbeatMs = performance.now();
    },
    crashNote: { read: () => undefined },
    process: {
      kill: () => {
        child.killedMs = performance.now();
      },
    },
  };
  return child;
}

describe('HangDetector', () => {
  const started: HangDetector[] = [];
  const start = (fakes: Iterable<ReturnType<typeof fakeChild>>) => {
    const children = fakes as Iterable<unknown> as Iterable<PoolChild>;
    const detector = new HangDetector({ children, checkIntervalMs, hangLimitMs, logger });
    started.push(detector);
    detector.start();
  };
  afterEach(() => {
    for (const detector of started.splice(0)) detector.stop();
  });

  it('kills a process once it has been silent for the limit, also between two regular checks', async () => {
    const healthy = fakeChild();
    const silent = fakeChild();
    const beating = setInterval(() => healthy.noteHeartbeat(), 100);
    start([healthy, silent]);
    setTimeout(() => silent.noteHeartbeat(), 300);
    try {
      await eventually(() => expect(silent.wasKilled).to.equal(true));
      expect(silent.killedMs - silent.lastHeartbeatMs).to.be.at.least(hangLimitMs);
      expect(healthy.wasKilled).to.equal(false);
    } finally {
      clearInterval(beating);
    }
  });

  it('looks at processes that beat all the time once in the limit, not at each interval', async () => {
    const beating = fakeChild();
    Object.defineProperty(beating, 'lastHeartbeatMs', { get: () => performance.now() });
    const beganMs = performance.now();
    const looks: number[] = [];
    start({
      *[Symbol.iterator]() {
        looks.push(performance.now());
        yield beating;
      },
    });
    await eventually(() => expect(looks).to.have.length.at.least(2));
    // Timers of Node may be a fraction of one ms early.
    for (const [index, atMs] of looks.entries())
      expect(atMs - (looks[index - 1] ?? beganMs)).to.be.at.least(hangLimitMs - 1);
  });
});
