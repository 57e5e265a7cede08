import { expect } from 'chai';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import { type ExactRequest, exactExplainer, readExactModel } from '../../../worker/drivers/exact-model.js';
import { compileExplanation } from '../../../worker/drivers/explainer.js';
import { readExactModelInThread } from '../../../worker/drivers/read-in-thread.js';
import { compileFeatureRow } from '../../../worker/feature-row/feature-row.js';
import { InferenceSession } from '../../../worker/models/inference-session.js';
import { CrashNote, CrashNoteWriter } from '../../../worker/pool/crash-note.js';
import { failureOf } from '../../support/failure-of.js';
import { encodeOnnx } from '../../support/models/sample-onnx.js';
import { itInFull } from '../../support/tier.js';
import { numbersManifest } from './compiled.js';
import { graphModel, plain, regressor } from './explained-model.js';
import type { TestNode } from './test-trees.js';

const width = 6;

/** A full tree; columns and thresholds depend on the seed. */
function fullTree(depth: number, seed: number): TestNode {
  const cover = 2 ** depth;
  if (depth === 0) return { value: (seed % 7) / 100 - 0.03, cover };
  return {
    mode: 'BRANCH_LEQ',
    column: seed % width,
    threshold: (seed % 11) / 11,
    missingIsYes: seed % 2 === 0,
    cover,
    yes: fullTree(depth - 1, 2 * seed + 1),
    no: fullTree(depth - 1, 2 * seed + 2),
  };
}

/** A file of several megabytes with more trees than one message holds. */
const large = regressor(
  Array.from({ length: 250 }, (_, tree) => fullTree(7, tree)),
  width,
);
const largeFile = encodeOnnx(large.model);

const request = (onnx: Uint8Array): ExactRequest => ({
  onnx,
  covers: Float32Array.from(large.covers),
  reference: { input: 'input', output: 'output', kind: 'logit', positive_class: 0 },
  width,
  fields: width,
  fieldOfColumn: Int32Array.from({ length: width }, (_, column) => column),
  means: new Float64Array(width),
  needsRows: true,
});

/** The longest time that the event loop was blocked during some work, in ms. */
async function maxBlockedMs(work: () => Promise<void>): Promise<number> {
  let maxMs = 0;
  let beforeMs = performance.now();
  let isDone = false;
  const tick = (): void => {
    maxMs = Math.max(maxMs, performance.now() - beforeMs);
    beforeMs = performance.now();
    if (!isDone) setImmediate(tick);
  };
  setImmediate(tick);
  await work();
  isDone = true;
  return maxMs;
}

describe('readExactModelInThread', () => {
  it('returns the same model as readExactModel', async () => {
    const direct = readExactModel(request(largeFile));
    const inThread = await readExactModelInThread(request(largeFile));
    expect(inThread).to.deep.equal(direct);
    const { drawn } = inThread;
    if (drawn === undefined) throw new Error('no rows were drawn');
    const [one, other] = [exactExplainer(direct), exactExplainer(inThread)];
    expect(other.base).to.equal(one.base);
    expect(await other.contributions(drawn)).to.deep.equal(await one.contributions(drawn));
  });

  it('names the chunk in the crash note while it reads a small file in this thread', async () => {
    const chunk = { chunk: 'chunk', partition: 0, gateway: 'gw', model: 'mdl', version: '1' };
    const { model, covers } = regressor([fullTree(2, 1)], width);
    const note = new CrashNote();
    let read: unknown;
    const small: ExactRequest = {
      ...request(encodeOnnx(model)),
      get covers() {
        read = note.read();
        return Float32Array.from(covers);
      },
    };
    await new CrashNoteWriter(note.descriptor).forChunk(chunk, () => readExactModelInThread(small));
    expect(read).to.deep.equal(chunk);
    expect(note.read()).to.equal(undefined);
    note.close();
  });

  itInFull('does not block the event loop while compileExplanation reads a large model', async () => {
    const manifest = numbersManifest(width, {
      kind: 'logit',
      explain: { kind: 'tree', covers: 'covers.f32' },
    });
    const session = await InferenceSession.load(largeFile, { reference: manifest.onnx, width });
    const knownFields = compileKnownFields(manifest);
    const model = { manifest, knownFields, featureRow: compileFeatureRow(manifest, knownFields), session };
    const covers = Buffer.from(Float32Array.from(large.covers).buffer);
    await compileExplanation(model, { onnx: largeFile, covers }); // warms up the JIT compiler

    const startedMs = performance.now();
    readExactModel(request(largeFile));
    const synchronousMs = performance.now() - startedMs;
    // Other load on the machine blocks this process too, but rarely in all three runs.
    const blockedMs: number[] = [];
    for (let time = 0; time < 3; time += 1)
      blockedMs.push(
        await maxBlockedMs(async () => {
          const { explainer } = await compileExplanation(model, { onnx: largeFile, covers });
          expect(explainer.method).to.equal('tree');
        }),
      );
    // About 15 ms and 300 ms on an idle machine.
    expect(Math.min(...blockedMs)).to.be.lessThan(synchronousMs / 3);
  });

  it('throws the same reason as readExactModel for a model that is not a sum', async () => {
    const weights = Array.from({ length: width * 4_000 }, (_, at) => (at % 5) - 2);
    const network = graphModel(
      [
        plain('MatMul', ['input', 'w'], 'hidden'),
        plain('Relu', ['hidden'], 'positive'),
        plain('ReduceSum', ['positive'], 'output'),
      ],
      { width, initializer: [{ name: 'w', dims: [width, 4_000], dataType: 1, floatData: weights }] },
    );
    const reason = async (read: () => unknown): Promise<string> => String(await failureOf((async () => read())()));
    const file = encodeOnnx(network);
    expect(file.length).to.be.greaterThan(64 * 1024);
    const inThread = await reason(() => readExactModelInThread(request(file)));
    expect(inThread).to.equal(await reason(() => readExactModel(request(file))));
    expect(inThread).to.match(/^NotASum: the operator ReduceSum/);
    const broken = await reason(() => readExactModelInThread(request(new Uint8Array(100_000).fill(0xff))));
    expect(broken).to.match(/cannot be read as an ONNX model/);
  });
});
