import { expect } from 'chai';
import { PretendedFleet } from '../../support/scoring/pretended-fleet.js';
import { deadlineIn, emptyModel, keyOf, scoringCall } from '../../support/scoring/scoring-call.js';

const processes = 16;
const callers = 64;
/** Long beside the way of a chunk from process to process, which this process plays all of. */
const chunkMs = 500;
const measuredMs = 5_000;

describe('the batches of one model, in a fleet of 16 worker processes', () => {
  for (const partitions of [1, 16])
    it(`keep at least 0.9 of the processes busy in ${partitions === 1 ? 'one partition' : '16 partitions'}`, async function () {
      this.timeout(60_000);
      const fleet = await PretendedFleet.start({ lanes: { batches: { processes, chunkMs } }, partitions });
      try {
        // A chunk of one record: this process plays the whole fleet.
        const score = () => {
          const call = scoringCall({ apiKey: keyOf('org'), deadline: deadlineIn(60_000) });
          return fleet.dispatcher.score(call, emptyModel, Promise.resolve());
        };
        await score();
        const untilMs = performance.now() + measuredMs;
        const isOver = (): boolean => performance.now() > untilMs;
        const call = async (): Promise<void> => {
          while (!isOver()) await score();
        };
        const calls = Array.from({ length: callers }, call);
        const busy = await fleet.medianBusy('batches', untilMs);
        await Promise.all(calls);
        expect(busy).to.be.at.least(0.9 * processes);
      } finally {
        await fleet.stop();
      }
    });
});
