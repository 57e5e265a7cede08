import { expect } from 'chai';
import { CrashNote, CrashNoteWriter } from '../../../worker/pool/crash-note.js';
import { type Steps, TimeSlices } from '../../../worker/pool/time-slices.js';
import { failureOf } from '../../support/failure-of.js';

const sliceMs = 12;
const inHand = { chunk: 'chunk', partition: 0, gateway: 'gw', model: 'mdl', version: '1' };

/** Three steps, each longer than a slice. */
function* longSteps(each: () => void = () => undefined): Steps<string> {
  for (let step = 0; step < 3; step += 1) {
    for (const startMs = performance.now(); performance.now() - startMs <= sliceMs; ) each();
    yield;
  }
  return 'done';
}

describe('work in time slices', () => {
  it('lets other work of the process run between two slices', async () => {
    const order: string[] = [];
    const other = () => {
      order.push('other');
      if (order.length < 5) setImmediate(other);
    };
    setImmediate(other);
    const work = function* (): Steps<void> {
      order.push('begun');
      yield* longSteps();
      order.push('ended');
    };
    await new TimeSlices().run(work());
    expect(order).to.deep.equal(['begun', 'other', 'other', 'other', 'ended']);
  });

  it('ends at the next slice with the reason of its signal when that is aborted', async () => {
    const abandoned = new AbortController();
    let steps = 0;
    const work = function* (): Steps<void> {
      for (; ; yield* longSteps()) steps += 1;
    };
    const running = new TimeSlices(abandoned.signal).run(work());
    setImmediate(() => abandoned.abort(new Error('abandoned')));
    expect(await failureOf(running)).to.have.property('message', 'abandoned');
    expect(steps).to.equal(1);
  });

  it('is named in the crash note while it runs, and not between two slices', async () => {
    const note = new CrashNote();
    const read = { within: new Set<unknown>(), between: new Set<unknown>() };
    setImmediate(() => read.between.add(note.read()));
    const writer = new CrashNoteWriter(note.descriptor);
    const steps = longSteps(() => read.within.add(JSON.stringify(note.read())));
    expect(await writer.forChunk(inHand, () => new TimeSlices().run(steps))).to.equal('done');
    expect([...read.within]).to.deep.equal([JSON.stringify(inHand)]);
    expect([...read.between]).to.deep.equal([undefined]);
    note.close();
  });
});
