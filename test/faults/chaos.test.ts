import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readableReport } from '../../scripts/chaos/chaos-report.js';
import { runChaos } from '../../scripts/chaos/run-chaos.js';
import type { Undo } from '../../scripts/servers/run-to-end.js';
import { printFigures } from '../support/faults/fault-figures.js';
import { leaveOut } from '../support/leave-out.js';

const minutes = 2;
const seed = 20_261_121;
const testTimeoutMs = 6 * 60_000;

describe(`npm run chaos -- --minutes ${minutes} --seed ${seed}`, () => {
  const undoings: Undo[] = [];

  afterEach(async function () {
    this.timeout(60_000);
    for (const undo of undoings.splice(0).reverse()) await undo();
  });

  it('answers each call in time and counts it once or not at all under random faults', async function () {
    this.timeout(testTimeoutMs);
    const directory = await mkdtemp(join(tmpdir(), 'leadscore-chaos-'));
    undoings.push(() => rm(directory, { recursive: true, force: true }));
    const result = await runChaos(
      { minutes, seed, historyFile: join(directory, 'history.jsonl') },
      { onStep: () => undefined, onFault: () => undefined, onEnd: (undo) => undoings.push(undo) },
    );
    printFigures({
      fault: `random faults for ${minutes} minutes, seed ${seed}`,
      faults: result.faults.reduce((sum, { times }) => sum + times, 0),
      answers: result.answers,
      slowest_ms: result.slowest_ms,
      exact_ms: result.exact_ms,
    });
    expect(result.problems, readableReport(result)).to.deep.equal([]);
    if (result.not_judged.length > 0) {
      const reason = `the machine stalled the service during ${result.not_judged.length} calls`;
      leaveOut(this, reason, 'run it on an idle machine');
    }
    expect(result.calls).to.be.above(1_000);
    expect(result.faults.length).to.be.above(8);
    expect(result.replays).to.be.above(50);
    const [stop] = result.counters.filter(({ hard_stop }) => hard_stop < 100_000 && hard_stop > 1_000);
    expect(stop?.used, 'usage of the organisation near its hard stop').to.be.above(
      0.9 * (stop?.hard_stop ?? 0),
    );
  });
});
