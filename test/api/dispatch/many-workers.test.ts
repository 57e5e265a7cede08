import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { LargeBodies, largeBytes, type QueuedCall } from '../../../api/request/large-bodies.js';
import { PretendedFleet } from '../../support/scoring/pretended-fleet.js';
import { deadlineIn, emptyModel, keyOf, scoringCall } from '../../support/scoring/scoring-call.js';

const processes = 8;

describe('the large calls of one organisation, beside small calls of another', () => {
  let fleet: PretendedFleet;

  before(async () => {
    fleet = await PretendedFleet.start({ lanes: { batches: { processes, chunkMs: 80 } } });
  });
  after(async () => {
    await fleet?.stop();
  });

  const callOf = (organisation: string, bytes: number): QueuedCall => ({
    apiKey: { organisation_id: organisation },
    body: Buffer.alloc(bytes),
    deadline: { monotonicMs: performance.now() + 60_000 },
    hasHungUp: () => false,
  });

  it('use all workers of batches at once', async function () {
    this.timeout(60_000);
    const largeBodies = new LargeBodies(() => fleet.queues.workersOf('batches'));
    const scored = (): Promise<unknown> =>
      largeBodies.inTurn(callOf('a', largeBytes), async () => {
        const records = Array.from({ length: 1_000 }, () => ({ crmId: null, fields: {} }));
        const call = scoringCall({ apiKey: keyOf('a'), deadline: deadlineIn(60_000), records });
        return await fleet.dispatcher.score(call, emptyModel, Promise.resolve());
      });
    let [isOver, mostBusy] = [false, 0];
    const watch = async (): Promise<void> => {
      for (; !isOver; await pause(5)) mostBusy = Math.max(mostBusy, fleet.busy('batches'));
    };
    const caller = async (): Promise<void> => {
      for (let call = 0; call < 10; call += 1) await scored();
    };
    await largeBodies.inTurn(callOf('b', 1), async () => undefined);
    const watching = watch();
    await Promise.all(Array.from({ length: 16 }, caller)).finally(() => {
      isOver = true;
    });
    await watching;
    expect(mostBusy).to.equal(processes);
  });
});
