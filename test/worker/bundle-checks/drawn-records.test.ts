import { expect } from 'chai';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import type { Feature } from '../../../shared/bundle/manifest/manifest.js';
import { type OnnxGraph, readOnnxModel } from '../../../shared/bundle/onnx/onnx-model.js';
import { drawnRecords } from '../../../worker/bundle-checks/trial/drawn-records.js';
import { missingRow } from '../../../worker/feature-row/cell-reading.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { encodeOnnx, linearModel, treeModel } from '../../support/models/sample-onnx.js';

const features: readonly Feature[] = [
  { field: 'size', label: 'Size', type: 'number', columns: [0], missing_column: 1 },
  { field: 'asked', label: 'Asked', type: 'boolean', columns: [2], impute: 0.5 },
  {
    ...{ field: 'source', label: 'Source', type: 'category', encoding: 'onehot', categories: ['a', 'b'] },
    ...{ columns: [3, 4], other_column: 5, missing_column: 6 },
  },
  { field: 'rank', label: 'Rank', type: 'category', encoding: 'ordinal', categories: ['x', 'y', 'z'], columns: [7] },
  { field: 'topics', label: 'Topics', type: 'multi', categories: ['t', 'u'], columns: [8, 9] },
  { field: 'since', label: 'Since', type: 'date', columns: [10], required: true },
];
const width = 11;

function drawn(graph: OnnxGraph): readonly number[][] {
  const { manifest } = checkBundle(sampleBundle({ features, weights: new Array<number>(width).fill(0) }));
  const { rows, count } = drawnRecords({ manifest, graph });
  return Array.from({ length: count }, (_, row) => [...rows.subarray(row * width, (row + 1) * width)]);
}
const graphOf = (model: ReturnType<typeof treeModel>): OnnxGraph => readOnnxModel(encodeOnnx(model)).graph;
const linear = graphOf(linearModel(new Array<number>(width).fill(0), 0));

describe('drawnRecords', () => {
  const rows = drawn(linear);
  const column = (index: number): number[] => rows.map((row) => row[index] ?? 9);

  it('draws 32 rows, the same each time', () => {
    expect(rows).to.have.length(32);
    expect(drawn(linear)).to.deep.equal(rows);
  });

  it('draws each kind of value that a feature can write, and no other', () => {
    expect(new Set(column(2))).to.deep.equal(new Set([0, 1, 0.5]));
    const sources = rows.map((row) => row.slice(3, 7).join(''));
    expect(new Set(sources)).to.deep.equal(new Set(['1000', '0100', '0010', '0001']));
    expect(new Set(column(7))).to.deep.equal(new Set([0, 1, 2, Number.NaN]));
    expect(new Set([...column(8), ...column(9)])).to.deep.equal(new Set([0, 1]));
    for (const row of rows) expect(row[1], String(row)).to.equal(Number.isNaN(row[0]) ? 1 : 0);
  });

  it('draws numbers of all sizes, and a value for each required feature', () => {
    const sizes = column(0).filter((value) => !Number.isNaN(value));
    expect(sizes.some((value) => Math.abs(value) < 10)).to.equal(true);
    expect(sizes.some((value) => Math.abs(value) > 10_000)).to.equal(true);
    expect(sizes.some((value) => value < 0)).to.equal(true);
    expect(column(10).some(Number.isNaN)).to.equal(false);
  });

  it('begins with a record without any value, but for required features', () => {
    const empty = [...missingRow({ width, features })];
    expect(rows[0]?.slice(0, 10)).to.deep.equal(empty.slice(0, 10));
  });

  it('draws values beside the thresholds of trees', () => {
    const near = (graph: OnnxGraph) => drawn(graph).filter(([size = 0]) => Math.abs(size - 10) < 0.02).length;
    expect(near(linear)).to.equal(0);
    expect(near(graphOf(treeModel(width)))).to.be.above(1);
  });
});
