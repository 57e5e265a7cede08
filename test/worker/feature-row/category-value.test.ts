import { expect } from 'chai';
import type { CategoryFeature, MultiFeature } from '../../../shared/bundle/manifest.js';
import type { Scalar } from '../../../shared/packed-cell.js';
import {
  compileCategoryReader,
  compileCategoryWriter,
  unknownCategory,
} from '../../../worker/feature-row/category-value.js';
import {
  compileMissingTexts,
  missingSentinel,
  wasMissing,
  wasRead,
} from '../../../worker/feature-row/missing-value.js';
import { compileMultiWriter } from '../../../worker/feature-row/multi-value.js';

const missingTexts = compileMissingTexts(['Select']);
const read = compileCategoryReader(
  {
    categories: ['Operations Management', 'none', '5', 'true', 'Stra\u00dfe', 'Google', '-1'],
    category_aliases: { 'Google Ads': 'Google', NA: 'google', none: 'Google' },
  },
  missingTexts,
);

const indexCases: readonly (readonly [Scalar, number])[] = [
  ['Operations Management', 0],
  ['OPERATIONS\u00a0MANAGEMENT\u00a0', 0],
  ['  operations \t management ', 0],
  ['\uff2fperations Management', 0],
  ['None', 1],
  [5, 2],
  ['5', 2],
  [-1, 6],
  [true, 3],
  ['STRASSE', 4],
  ['google ads', 5],
  ['n/a', missingSentinel],
  ['na', 5],
  ['', missingSentinel],
  ['null', missingSentinel],
  ['select', missingSentinel],
  ['Zzz', unknownCategory],
  [false, unknownCategory],
  [5.5, unknownCategory],
  ['__proto__', unknownCategory],
];

describe('a category cell', () => {
  for (const [value, index] of indexCases)
    it(`reads ${JSON.stringify(value)} as ${index}`, () => expect(read(value)).to.equal(index));

  it('is right after endlessly many texts of callers', () => {
    for (let text = 0; text < 5_000; text += 1) expect(read(`company ${text}`)).to.equal(unknownCategory);
    expect(read('GOOGLE')).to.equal(5);
  });

  it('refuses an alias that stands for no category', () => {
    const feature = { categories: ['a'], category_aliases: { b: 'c' } };
    expect(() => compileCategoryReader(feature, missingTexts)).to.throw(/"b".*"c"/);
  });

  it('sets one column of a one-hot feature, the other column, or none', () => {
    const base: CategoryFeature = {
      ...{ type: 'category', encoding: 'onehot', field: 'f', label: 'f' },
      ...{ categories: ['a', 'b'], columns: [2, 1] },
    };
    expect(written(base, 'A')).to.deep.equal([0, 0, 1, 0, 0]);
    expect(written(base, 'b')).to.deep.equal([0, 1, 0, 0, 0]);
    expect(written(base, 'zzz')).to.deep.equal([0, 0, 0, 0, 0]);
    const full: CategoryFeature = { ...base, other_column: 3, missing_column: 4 };
    expect(written(full, 'zzz')).to.deep.equal([0, 0, 0, 1, 0]);
    expect(written(full, 'a')).to.deep.equal([0, 0, 1, 0, 0]);
    expect(written(full, 'n/a')).to.deep.equal([0, 0, 0, 0, 9]);
  });

  it('writes the index of an ordinal feature, its other value, or NaN', () => {
    const base: CategoryFeature = {
      ...{ type: 'category', encoding: 'ordinal', field: 'f', label: 'f' },
      ...{ categories: ['a', 'b'], columns: [1] },
    };
    expect(written(base, 'b')).to.deep.equal([0, 1, 0, 0, 0]);
    expect(written(base, 'zzz')).to.deep.equal([0, Number.NaN, 0, 0, 0]);
    expect(written({ ...base, other_value: 6, missing_column: 4 }, 'zzz')).to.deep.equal([0, 6, 0, 0, 0]);
  });
});

function written(feature: CategoryFeature, value: Scalar): number[] {
  const out = new Float32Array(5);
  if (feature.missing_column !== undefined) out[feature.missing_column] = 9;
  const reading = compileCategoryWriter(feature, missingTexts)(value, { out, offset: 0, nowMs: 0 });
  expect(reading).to.equal(value === 'n/a' ? wasMissing : wasRead);
  return Array.from(out);
}

describe('a multi cell', () => {
  const base: MultiFeature = {
    type: 'multi',
    field: 'f',
    label: 'f',
    categories: ['a', 'B b', 'none'],
    columns: [0, 1, 2],
  };
  const rowOf = (value: Scalar, feature: MultiFeature = base): readonly [number, number[]] => {
    const out = new Float32Array(3);
    const reading = compileMultiWriter(feature, missingTexts)(value, { out, offset: 0, nowMs: 0 });
    return [reading, Array.from(out)];
  };

  it('sets the column of each part, in any order, however often', () => {
    expect(rowOf('a;b b')).to.deep.equal([wasRead, [1, 1, 0]]);
    expect(rowOf(' B  B ; A ;A;')).to.deep.equal([wasRead, [1, 1, 0]]);
    expect(rowOf('a\uff1bnone')).to.deep.equal([wasRead, [1, 0, 1]]);
  });

  it('sets nothing for unknown parts', () => {
    expect(rowOf('x;y')).to.deep.equal([wasRead, [0, 0, 0]]);
    expect(rowOf(5)).to.deep.equal([wasRead, [0, 0, 0]]);
    expect(rowOf('x;a')).to.deep.equal([wasRead, [1, 0, 0]]);
  });

  for (const text of ['', ' ; ', 'null', 'N/A;-', 'Select'])
    it(`takes ${JSON.stringify(text)} for missing`, () =>
      expect(rowOf(text)).to.deep.equal([wasMissing, [0, 0, 0]]));

  it('takes its own separator, and a category that holds it as a whole', () => {
    const feature: MultiFeature = { ...base, separator: ',', categories: ['a', 'Banking, Insurance', 'c'] };
    expect(rowOf('a,c', feature)).to.deep.equal([wasRead, [1, 0, 1]]);
    expect(rowOf('banking, insurance', feature)).to.deep.equal([wasRead, [0, 1, 0]]);
    expect(rowOf('a;c', feature)).to.deep.equal([wasRead, [0, 0, 0]]);
    expect(rowOf('a\nc', { ...feature, separator: '\n' })).to.deep.equal([wasRead, [1, 0, 1]]);
  });
});
