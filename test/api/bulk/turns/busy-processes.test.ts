import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { SliceWindow } from '../../../../api/bulk/turns/slice-window.js';
import type { Lane } from '../../../../shared/contract/lanes.js';
import { PretendedFleet } from '../../../support/scoring/pretended-fleet.js';
import { deadlineIn, emptyModel, keyOf, scoringCall } from '../../../support/scoring/scoring-call.js';

const bulkProcesses = 16;
const singleEveryMs = 20;
const measuredMs = 4_000;

describe('a bulk job beside singles, in a fleet of 16 worker processes of bulk jobs', () => {
  let fleet: PretendedFleet;

  before(async () => {
    const bulk = { processes: bulkProcesses, chunkMs: 50 };
    fleet = await PretendedFleet.start({ lanes: { bulk, singles: { processes: 2, chunkMs: 5 } } });
  });
  after(async () => {
    await fleet?.stop();
  });

  const score = (lane: Lane) => {
    const call = scoringCall({ apiKey: keyOf(lane), lane, deadline: deadlineIn(60_000) });
    return fleet.dispatcher.score(call, emptyModel, Promise.resolve());
  };
  /** As many chunks as a slice of 1,000 rows has, but of one record each: this process plays the whole fleet. */
  const scoreSlice = async () => void (await Promise.all(Array.from({ length: 4 }, () => score('bulk'))));

  it('keeps at least 12 of them busy', async function () {
    this.timeout(60_000);
    await score('bulk');
    await score('singles');
    const window = new SliceWindow(fleet.queues);
    const untilMs = performance.now() + measuredMs;
    const isOver = (): boolean => performance.now() > untilMs;
    const singles: Promise<unknown>[] = [];
    const callSingles = async (): Promise<void> => {
      for (; !isOver(); await pause(singleEveryMs)) singles.push(score('singles'));
    };
    const slice = async (): Promise<void> => (isOver() ? undefined : await scoreSlice());
    const takeTurns = async (): Promise<void> => {
      for (; !isOver(); window.endTurn())
        await Promise.all(Array.from({ length: 4 * window.max }, () => window.run('job', slice)));
    };
    const [busy] = await Promise.all([fleet.medianBusy('bulk', untilMs), callSingles(), takeTurns()]);
    await Promise.all(singles);
    expect(singles.length).to.be.above(20);
    expect(window.max).to.equal(2 * bulkProcesses);
    expect(busy).to.be.at.least(12);
  });
});
