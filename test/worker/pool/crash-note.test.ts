import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect } from 'chai';
import { type ChunkInHand, CrashNote, CrashNoteWriter, noted } from '../../../worker/pool/crash-note.js';

const one: ChunkInHand = { chunk: 'one', partition: 0, gateway: 'gw', model: 'mdl', version: '1' };
const other: ChunkInHand = { chunk: 'other', partition: 63, gateway: 'gw', model: 'mdl', version: 'ü'.repeat(64) };

describe('a crash note', () => {
  let note: CrashNote;
  let writer: CrashNoteWriter;

  beforeEach(() => {
    note = new CrashNote();
    writer = new CrashNoteWriter(note.descriptor);
  });
  afterEach(() => note.close());

  const read = async () => note.read();

  it('names the chunk whose synchronous work runs, and none while the chunk waits', async () => {
    const work = async () => [noted(() => note.read()), note.read(), await nextIteration(), noted(() => note.read())];
    expect(await writer.forChunk(one, work)).to.deep.equal([one, undefined, undefined, one]);
    expect(note.read()).to.equal(undefined);
  });

  it('names none after synchronous work that throws', () => {
    const fail = () => {
      throw new Error('unreadable');
    };
    expect(() => writer.forChunk(one, () => noted(fail))).to.throw('unreadable');
    expect(note.read()).to.equal(undefined);
  });

  it('names the chunk of each native run, one after another', async () => {
    const run = async () => {
      await nextIteration();
      return note.read();
    };
    const runs = [one, other].map((chunk) => writer.forChunk(chunk, () => writer.duringRun(run)));
    expect(await Promise.all(runs)).to.deep.equal([one, other]);
    expect(note.read()).to.equal(undefined);
  });

  it('names the chunk of a waiting native run again after the synchronous work of another chunk', async () => {
    let start = () => {};
    const started = new Promise<void>((resolve) => {
      start = resolve;
    });
    const run = writer.forChunk(one, () => writer.duringRun(() => started.then(read)));
    await nextIteration();
    expect(writer.forChunk(other, () => noted(() => note.read()))).to.deep.equal(other);
    start();
    expect(await run).to.deep.equal(one);
  });

  it('names no chunk for work outside a chunk', async () => {
    expect(noted(() => note.read())).to.equal(undefined);
    expect(await writer.duringRun(read)).to.equal(undefined);
  });
});
