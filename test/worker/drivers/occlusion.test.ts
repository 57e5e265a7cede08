import { expect } from 'chai';
import fc from 'fast-check';
import { logistic, logOdds } from '../../../worker/drivers/contributions.js';
import { explainByOcclusion, type RunModel } from '../../../worker/drivers/occlusion.js';

/** A model whose log-odds are a function of one row; `calls` collects the rows per run. */
function modelOf(marginOf: (row: readonly number[]) => number, width: number) {
  const calls: number[] = [];
  const run: RunModel = async (rows, count) => {
    calls.push(count);
    return Float64Array.from({ length: count }, (_, row) =>
      logistic(marginOf(Array.from(rows.subarray(row * width, (row + 1) * width)))),
    );
  };
  return { run, calls };
}

async function occluded(
  marginOf: (row: readonly number[]) => number,
  of: {
    readonly baseline: readonly number[];
    readonly rows: readonly (readonly number[])[];
    readonly fieldOfColumn?: readonly number[];
  },
) {
  const width = of.baseline.length;
  const fieldOfColumn = of.fieldOfColumn ?? of.baseline.map((_, column) => column);
  const fields = 1 + Math.max(...fieldOfColumn);
  const { run, calls } = modelOf(marginOf, width);
  const explainer = explainByOcclusion({
    run,
    width,
    baseline: Float32Array.from(of.baseline),
    fields,
    fieldOfColumn: Int32Array.from(fieldOfColumn),
  });
  const found = await explainer.contributions({
    rows: Float32Array.from(of.rows.flat()),
    count: of.rows.length,
  });
  const contributions = of.rows.map((_, row) => Array.from(found.subarray(row * fields, (row + 1) * fields)));
  return { contributions, calls };
}

const small = fc.integer({ min: -8, max: 8 }).map((value) => value / 4);

describe('explainByOcclusion', () => {
  it('averages removing a field from the record and adding it to the baseline', async () => {
    // Interaction: with both at 1 the margin is 3.
    const margin = ([a = 0, b = 0]: readonly number[]) => a + 2 * a * b;
    const { contributions } = await occluded(margin, { baseline: [0, 0], rows: [[1, 1]] });
    // a: ½[(3 - 0) + (1 - 0)], b: ½[(3 - 1) + (0 - 0)]
    expect(contributions[0]?.[0]).to.be.closeTo(2, 1e-9);
    expect(contributions[0]?.[1]).to.be.closeTo(1, 1e-9);
  });

  it('returns weight * (value - baseline) for a linear model', async () => {
    const rows = fc.array(fc.tuple(small, small, small), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(fc.tuple(small, small, small), rows, async (baseline, drawn) => {
        const weights = [0.5, -1, 0.25];
        const margin = (row: readonly number[]) =>
          weights.reduce((sum, weight, column) => sum + weight * (row[column] ?? 0), 0.1);
        const { contributions } = await occluded(margin, { baseline, rows: drawn });
        for (const [row, found] of contributions.entries())
          for (const [column, weight] of weights.entries()) {
            const distance = (drawn[row]?.[column] ?? 0) - (baseline[column] ?? 0);
            expect(found[column]).to.be.closeTo(weight * distance, 1e-6);
          }
      }),
      { numRuns: 50 },
    );
  });

  it('replaces all columns of a field together', async () => {
    const oneHot = ([a = 0, b = 0, c = 0]: readonly number[]) => (a + b === 1 ? 2 * a - b : Number.NaN) + c;
    const { contributions } = await occluded(oneHot, {
      baseline: [0, 1, 0],
      rows: [[1, 0, 0.5]],
      fieldOfColumn: [0, 0, 1],
    });
    expect(contributions[0]?.[0]).to.be.closeTo(3, 1e-9);
    expect(contributions[0]?.[1]).to.be.closeTo(0.5, 1e-9);
  });

  it('runs two rows per field that differs from the baseline, and one row per record', async () => {
    const margin = ([a = 0, b = 0]: readonly number[]) => a - b;
    const { contributions, calls } = await occluded(margin, {
      baseline: [1, 1],
      rows: [
        [1, 1],
        [2, 1],
        [3, 3],
      ],
    });
    expect(contributions[0]).to.deep.equal([0, 0]);
    expect(contributions[1]?.[1]).to.equal(0);
    expect(calls.reduce((sum, count) => sum + count, 0)).to.equal(1 + 3 + 2 + 4);
  });

  it('bounds the memory for mixtures of a wide model', async () => {
    const width = 2_000;
    const rows = Float32Array.from({ length: 2 * width }, (_, column) => column + 1);
    let maxBytes = 0;
    let total = 0;
    const run: RunModel = async (some, count) => {
      if (some.buffer !== rows.buffer) maxBytes = Math.max(maxBytes, some.buffer.byteLength);
      total += count;
      return new Float64Array(count).fill(0.5);
    };
    const fieldOfColumn = Int32Array.from({ length: width }, (_, column) => column);
    const baseline = { width, baseline: new Float32Array(width), fields: width, fieldOfColumn };
    await explainByOcclusion({ run, ...baseline }).contributions({ rows, count: 2 });
    expect(total).to.equal(1 + 2 + 2 * 2 * width);
    // All mixtures of one record would take 32 MB.
    expect(maxBytes).to.be.at.most(4 * 1024 * 1024);
  });

  it('stops between two runs if its signal is aborted', async () => {
    const controller = new AbortController();
    let runs = 0;
    const run: RunModel = async (_, count) => {
      runs += 1;
      if (runs === 3) controller.abort(new Error('caller disconnected'));
      return new Float64Array(count).fill(0.5);
    };
    const rows = Float32Array.from({ length: 500 }, (_, column) => column + 1);
    const fieldOfColumn = Int32Array.from({ length: 500 }, (_, column) => column);
    const baseline = { width: 500, baseline: new Float32Array(500), fields: 500, fieldOfColumn };
    const error = await explainByOcclusion({ run, ...baseline })
      .contributions({ rows, count: 1, signal: controller.signal })
      .catch((thrown: unknown) => thrown);
    expect(error).to.be.an('error').with.property('message', 'caller disconnected');
    expect(runs).to.equal(3);
  });

  it('uses only one of the two mixtures if the other is NaN, and 0 if both are NaN', async () => {
    const picky = ([a = 0, b = 0]: readonly number[]) => (a === 1 && b === 0 ? Number.NaN : 2 * a + b);
    const { contributions } = await occluded(picky, { baseline: [0, 0], rows: [[1, 1]] });
    // The record with b = 0 is NaN, and so is the baseline with a = 1.
    // So b uses only the baseline, and a only the record.
    expect(contributions[0]?.[0]).to.be.closeTo(2, 1e-9);
    expect(contributions[0]?.[1]).to.be.closeTo(1, 1e-9);
    const never = () => Number.NaN;
    expect((await occluded(never, { baseline: [0], rows: [[1]] })).contributions).to.deep.equal([[0]]);
  });

  it('returns finite contributions for probabilities of exactly 0 and 1', async () => {
    const { contributions } = await occluded(([a = 0]) => 1e9 * a, { baseline: [-1], rows: [[1]] });
    expect(contributions[0]?.[0]).to.be.closeTo(2 * logOdds(1), 1e-6);
  });

  it('returns the same contributions for many records as for single records', async () => {
    const margin = ([a = 0, b = 0, c = 0]: readonly number[]) => a * b - c * c + b;
    const rows = Array.from({ length: 3000 }, (_, row) => [row % 7, row % 5, row % 3]);
    const { contributions } = await occluded(margin, { baseline: [1, 1, 1], rows });
    for (const row of [0, 1, 584, 585, 586, 1500, 2999]) {
      const alone = await occluded(margin, { baseline: [1, 1, 1], rows: [rows[row] ?? []] });
      expect(contributions[row], `row ${row}`).to.deep.equal(alone.contributions[0]);
    }
  });
});
