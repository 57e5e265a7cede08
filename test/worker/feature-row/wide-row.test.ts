import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import type { Feature } from '../../../shared/bundle/manifest.js';
import { compileFeatureRow } from '../../../worker/feature-row/feature-row.js';

const width = 2_000;
/** A model that is loaded and explained has three readers of each feature. */
const mostBytes = 4_000;

function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

describe('the feature row of a wide model', () => {
  it('keeps nothing large for each number that it reads', () => {
    const features = Array.from({ length: width }, (_, column): Feature => {
      const name = `number ${column}`;
      return { type: 'number', field: name, label: name, columns: [column] };
    });
    const slotOfFeature = features.map((_, slot) => slot);
    const before = heapUsed();
    const row = compileFeatureRow({ features, width }, { slotOfFeature });
    expect((heapUsed() - before) / width).to.be.below(mostBytes);
    expect(row.width).to.equal(width);
  });
});
