import { expect } from 'chai';
import type { MultiFeature } from '../../../shared/bundle/manifest.js';
import type { Scalar } from '../../../shared/packed-cell.js';
import {
  compileMissingTexts,
  type Reading,
  wasMissing,
  wasRead,
  wasUnreadable,
} from '../../../worker/feature-row/missing-value.js';
import { compileMultiWriter } from '../../../worker/feature-row/multi-value.js';

const tags: MultiFeature = {
  type: 'multi',
  field: 'tags',
  label: 'Tags',
  categories: ['Alpha', 'Beta', 'Research; Development'],
  columns: [1, 2, 3],
};

/** Writes one value a row, all by one writer, and gives each row and how it was read. */
function written(
  values: readonly Scalar[],
  feature: MultiFeature = tags,
): [row: number[], reading: Reading][] {
  const write = compileMultiWriter(feature, compileMissingTexts(['no tags']));
  return values.map((value) => {
    const out = new Float32Array(5);
    const reading = write(value, { out, offset: 1, nowMs: 0 });
    return [[...out], reading];
  });
}

describe('a multi cell', () => {
  it('sets the column of each category in a list', () => {
    expect(written(['alpha', 'ALPHA ;beta', 'beta;;  beta '])).to.deep.equal([
      [[0, 0, 1, 0, 0], wasRead],
      [[0, 0, 1, 1, 0], wasRead],
      [[0, 0, 0, 1, 0], wasRead],
    ]);
  });

  it('takes a text that is a category as a whole for that one', () => {
    expect(written(['research; development'])).to.deep.equal([[[0, 0, 0, 0, 1], wasRead]]);
  });

  it('sets nothing for what it does not know', () => {
    expect(written(['gamma', 5, 'gamma; alpha'])).to.deep.equal([
      [[0, 0, 0, 0, 0], wasRead],
      [[0, 0, 0, 0, 0], wasRead],
      [[0, 0, 1, 0, 0], wasRead],
    ]);
  });

  it('is missing when all of it is', () => {
    const readings = written(['', ';', 'n/a', 'none; No  Tags', 'none; gamma']).map(([, reading]) => reading);
    expect(readings).to.deep.equal([wasMissing, wasMissing, wasMissing, wasMissing, wasRead]);
  });

  it('reads a text the same when it comes again', () => {
    const texts = ['beta; alpha', 'n/a', 'gamma', `alpha; ${'x'.repeat(100)}`];
    const [first, second] = [written(texts), written([...texts, ...texts]).slice(texts.length)];
    expect(second).to.deep.equal(first);
  });

  it('takes a list apart at its own separator, or not at all', () => {
    expect(written(['alpha, beta', 'alpha;beta'], { ...tags, separator: ',' })).to.deep.equal([
      [[0, 0, 1, 1, 0], wasRead],
      [[0, 0, 0, 0, 0], wasRead],
    ]);
    expect(written(['alpha;beta', 'beta'], { ...tags, separator: '' })).to.deep.equal([
      [[0, 0, 0, 0, 0], wasRead],
      [[0, 0, 0, 1, 0], wasRead],
    ]);
  });

  it('does not look at a list that is too long', () => {
    expect(written([`alpha;${'x'.repeat(65_536)}`])).to.deep.equal([[[0, 0, 0, 0, 0], wasUnreadable]]);
  });
});
