import { expect } from 'chai';
import type { CategoryFeature } from '../../../shared/bundle/manifest/manifest.js';
import type { Scalar } from '../../../shared/messages/cells.js';
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
  wasUnseen,
} from '../../../worker/feature-row/cell-reading.js';

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
  ['STRAẞE', 4],
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

describe('a category feature', () => {
  for (const [value, index] of indexCases)
    it(`reads the category cell ${JSON.stringify(value)} as index ${index}`, () => expect(read(value)).to.equal(index));

  it('reads categories correctly after 5,000 different texts have filled its cache', () => {
    for (let text = 0; text < 5_000; text += 1) expect(read(`company ${text}`)).to.equal(unknownCategory);
    expect(read('GOOGLE')).to.equal(5);
  });

  it('throws for an alias of an unknown category', () => {
    const feature = { categories: ['a'], category_aliases: { b: 'c' } };
    expect(() => compileCategoryReader(feature, missingTexts)).to.throw(/"b".*"c"/);
  });

  it('sets the category column of a one-hot feature, the other column, or no column', () => {
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

  it('writes the index of an ordinal feature, the other value, or NaN', () => {
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
  expect(reading).to.equal(value === 'n/a' ? wasMissing : value === 'zzz' ? wasUnseen : wasRead);
  return Array.from(out);
}
