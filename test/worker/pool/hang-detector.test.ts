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
    /** How often a check looked at it. */
    looks: 0,
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
  const start = (...children: ReturnType<typeof fakeChild>[]) => {
    const looked = {
      *[Symbol.iterator]() {
        for (const child of children) {
          child.looks += 1;
          yield child as unknown as PoolChild;
        }
      },
    };
    const detector = new HangDetector({ children: looked, checkIntervalMs, hangLimitMs, logger });
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
    start(healthy, silent);
    setTimeout(() => silent.noteHeartbeat(), 300);
    try {
      await eventually(() => expect(silent.wasKilled).to.equal(true));
      expect(silent.killedMs - silent.lastHeartbeatMs).to.be.at.least(hangLimitMs);
      expect(healthy.wasKilled).to.equal(false);
    } finally {
      clearInterval(beating);
    }
  });

  it('looks at healthy processes about once in the limit, not at each interval', async () => {
    const healthy = Object.defineProperty(fakeChild(), 'lastHeartbeatMs', { get: () => performance.now() });
    const startedMs = performance.now();
    start(healthy);
    await eventually(() => expect(healthy.looks).to.be.at.least(3));
    expect(performance.now() - startedMs).to.be.at.least(2.5 * hangLimitMs);
  });
});
