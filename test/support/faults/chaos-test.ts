import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readableReport } from '../../../scripts/chaos/chaos-report.js';
import { runChaos } from '../../../scripts/chaos/run-chaos.js';
import type { Undo } from '../../../scripts/servers/run-to-end.js';
import { leaveOut } from '../leave-out.js';
import { printFigures } from './fault-figures.js';

export interface ChaosTest {
  readonly seconds: number;
  readonly seed: number;
  readonly onRedisCluster?: boolean;
  /** About half of what an idle machine reaches: fewer would prove too little. */
  readonly min: { readonly calls: number; readonly kindsOfFaults: number; readonly replays: number };
}

const maxOverheadMs = 7 * 60_000; // start, the last bulk jobs, two leases and two sweeps on a busy machine
const stopTimeoutMs = 60_000;

/** Declares a test that runs `npm run chaos` and asserts its checks. */
export function chaosTest({ seconds, seed, onRedisCluster = false, min }: ChaosTest): void {
  const minutes = seconds / 60;

  const where = onRedisCluster ? ' on a Redis Cluster with four partitions' : '';

  describe(`npm run chaos for ${seconds} s with seed ${seed}${where}`, () => {
    const undos: Undo[] = [];

    afterEach(async function () {
      this.timeout(stopTimeoutMs);
      for (const undo of undos.splice(0).reverse()) await undo();
    });

    it('answers each call in time and counts it once or not at all under random faults', async function () {
      this.timeout(1_000 * seconds + maxOverheadMs);
      const directory = await mkdtemp(join(tmpdir(), 'leadscore-chaos-'));
      undos.push(() => rm(directory, { recursive: true, force: true }));
      const result = await runChaos(
        { minutes, seed, onRedisCluster, historyFile: join(directory, 'history.jsonl') },
        { onStep: () => undefined, onFault: () => undefined, onEnd: (undo) => undos.push(undo) },
      );
      printFigures({
        fault: `random faults for ${seconds} s, seed ${seed}${where}`,
        faults: result.faults.reduce((sum, { times }) => sum + times, 0),
        answers: result.answers,
        slowest_ms: result.slowest_ms,
        exact_ms: result.exact_ms,
      });
      expect(result.problems, readableReport(result)).to.deep.equal([]);
      if (result.not_judged.length > 0) {
        const reason = `the machine stalled the service during ${result.not_judged.length} calls`;
        leaveOut(this, reason, 'use an idle machine');
      }
      expect(result.calls, 'calls').to.be.above(min.calls);
      expect(result.faults.length, 'kinds of faults').to.be.above(min.kindsOfFaults);
      expect(result.jobs.completed, 'completed bulk jobs').to.be.above(0);
      expect(result.replays, 'replays').to.be.above(min.replays);
      // 1,000 is the cap of test keys; the other organisations' stops are never reached.
      const [stop] = result.counters.filter(({ hard_stop }) => hard_stop < 100_000 && hard_stop !== 1_000);
      expect(stop?.used, 'usage of the organisation near its hard stop').to.be.above(0.9 * (stop?.hard_stop ?? 0));
    });
  });
}
