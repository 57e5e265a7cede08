import { expect } from 'chai';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { type BadManifest, itRefusesManifest, put, refusalOf } from '../../support/models/bundle-refusal.js';
import { packSample, sampleBundle, sampleParts } from '../../support/models/sample-bundle.js';

const multi = { field: 'topics', label: 'Topics', type: 'multi', columns: [0], categories: ['a'] };
const isotonic = (x: unknown, y: unknown) => ({ kind: 'isotonic', x, y });

/** Each row sets one member of the sample's manifest to a value of the right shape. */
const rows: readonly BadManifest[] = [
  [
    'a column beyond the width',
    'features.0.columns.0',
    6,
    /^features\[0\].columns\[0\] is 6, outside 0..5; no feature/,
  ],
  [
    'a column filled twice',
    'features.1.columns.0',
    0,
    /is 0, which features\[0\].columns\[0\] already fills; no feature/,
  ],
  [
    'an other_column that is also the missing_column',
    'features.2.missing_column',
    4,
    /^features\[2\].missing_column is 4, which features\[2\].other_column already fills/,
  ],
  [
    'a missing_column that is also a category column',
    'features.2.missing_column',
    3,
    /^features\[2\].missing_column is 3, which features\[2\].columns\[1\] already fills/,
  ],
  ['a column that no feature fills', 'features.2.missing_column', undefined, 'no feature fills input column 5'],
  [
    'columns that no feature fills',
    'width',
    14,
    /^no feature fills input column 6, 7, 8, 9, 10 and 3 more; explain.means/,
  ],
  [
    'fewer columns than categories',
    'features.2.categories.2',
    'Fair',
    'features[2].columns has 2 entries for 3 categories',
  ],
  [
    'an ordinal feature in four columns',
    'features.2',
    {
      field: 'a',
      label: 'a',
      type: 'category',
      encoding: 'ordinal',
      categories: ['x', 'y'],
      columns: [2, 3, 4, 5],
    },
    'features[2].columns has 4 entries, but an ordinal feature fills one column',
  ],
  [
    'fewer columns than multi categories',
    'features.2',
    { ...multi, columns: [2, 3, 4, 5] },
    'features[2].columns has 4 entries for 1 categories',
  ],
  [
    'categories that differ only in case, width and spaces',
    'features.2.categories.1',
    ' ＷＥＢＩＮＡＲ ',
    'features[2].categories[1] " ＷＥＢＩＮＡＲ " is the same category as "Webinar" (case, width and repeated spaces are ignored)',
  ],
  [
    'a multi category twice',
    'features.2',
    { ...multi, categories: ['a', 'b', 'A', 'c'], columns: [2, 3, 4, 5] },
    'features[2].categories[2] "A" is the same category as "a" (case, width and repeated spaces are ignored)',
  ],
  [
    'an alias of an unknown category',
    'features.2.category_aliases.Fair',
    'Trade fair',
    'features[2].category_aliases "Fair" maps to "Trade fair", which is not one of the categories',
  ],
  [
    'an alias that is another category',
    'features.2.category_aliases.REFERRAL',
    'Webinar',
    'features[2].category_aliases "REFERRAL" maps to "Webinar", but already means "Referral"',
  ],
  [
    'an alias with two meanings',
    'features.2.category_aliases.WEB SEMINAR',
    'Referral',
    'features[2].category_aliases "WEB SEMINAR" maps to "Referral", but already means "Webinar"',
  ],
  [
    'impute in a one-hot feature',
    'features.2.impute',
    0,
    'features[2] has the key "impute", which the encoding "onehot" does not use: remove it',
  ],
  [
    'other_value in a one-hot feature',
    'features.2.other_value',
    0,
    'features[2] has the key "other_value", which the encoding "onehot" does not use: remove it',
  ],
  [
    'descending quantiles',
    'quantiles.50',
    0.1,
    'quantiles[50] is 0.1, below the entry before it: the list must not descend',
  ],
  [
    'equal quantiles',
    'quantiles',
    Array(101).fill(0.5),
    "quantiles are all 0.5: give the percentiles 0 to 100 of the model's raw probabilities",
  ],
  [
    'a descending platt curve',
    'calibration',
    { kind: 'platt', a: -1, b: 0 },
    /^calibration\.a is -1, so a higher raw probability would not give a higher likelihood: /,
  ],
  ['a level platt curve', 'calibration', { kind: 'platt', a: 0, b: 0 }, /^calibration\.a is 0, so /],
  [
    'a best fifth that converts in more than all cases',
    'validation',
    { base_rate: 0.3, holdout_top_lift: 3.4 },
    'validation.holdout_top_lift is 3.4 at a base_rate of 0.3, so 102 % of the best fifth would convert: take both from the same rows',
  ],
  [
    'data until a day after the training',
    'validation.data_until',
    '2026-02-01',
    'validation.data_until is 2026-02-01, after trained_at (2026-01-31T12:00:00Z): give the last day whose leads the model was trained on',
  ],
  [
    'equal neighbours in an isotonic x',
    'calibration',
    isotonic([0, 0.5, 0.5], [0, 0, 1]),
    'calibration.x[2] is 0.5, equal to the entry before it: the list must ascend strictly',
  ],
  [
    'a descending isotonic y',
    'calibration',
    isotonic([0, 0.5, 1], [0, 1, 0.5]),
    'calibration.y[2] is 0.5, below the entry before it: the list must not descend',
  ],
  [
    'isotonic lists of different lengths',
    'calibration',
    isotonic([0, 0.5, 1], [0, 1]),
    'calibration.x has 3 entries, but calibration.y has 2',
  ],
  ['too few means', 'explain.means', [0, 0], 'explain.means has 2 entries for 6 input columns'],
  [
    'too many reference values',
    'explain',
    { kind: 'baseline', values: [0, 0, 0, 0, 0, 0, 0] },
    'explain.values has 7 entries for 6 input columns',
  ],
  [
    'the ONNX file as the covers file',
    'explain',
    { kind: 'tree', covers: 'model.onnx' },
    'explain.covers is "model.onnx", the name of another member: rename the file',
  ],
];

describe('checkManifest, once the shape is right', () => {
  for (const [title, ...row] of rows) itRefusesManifest([`a manifest with ${title}`, ...row]);

  it('names the first five problems of a manifest and counts the others', () => {
    const parts = sampleParts();
    for (const path of ['name', 'version', 'family', 'width', 'quantiles', 'calibration', 'trained_at']) {
      put(parts.manifest, path, undefined);
    }
    const error = refusalOf(() => checkBundle(packSample(parts)));
    expect(error.problems).to.have.length(7);
    expect(error.reason.match(/lacks/g)).to.have.length(5);
    expect(error.reason).to.match(/; and 2 more$/);
  });

  it('removes control characters from its error message and limits the length', () => {
    const parts = sampleParts();
    put(parts.manifest, 'features.2.category_aliases', { [`\u001b[2J${'x'.repeat(5000)}`]: 'none' });
    const { message } = refusalOf(() => checkBundle(packSample(parts)));
    expect(message).to.not.match(/\p{Cc}/u);
    expect(message).to.have.length.below(400);
  });
});

describe('an unusual but valid manifest', () => {
  const accepted: readonly (readonly [title: string, path: string, value: unknown])[] = [
    ['quantiles that are equal but for the last', 'quantiles', [...Array(100).fill(0.5), 0.6]],
    ['data until the day of the training', 'validation.data_until', '2026-01-31'],
    ['data until the instant of the training', 'validation.data_until', '2026-01-31T13:00:00+01:00'],
    ['data until a day long before', 'validation.data_until', '2025-06-30'],
    ['a date as training time', 'trained_at', '2026-02-28'],
    ['a training time with an offset and microseconds', 'trained_at', '2026-02-28T10:00:00.123456+00:00'],
    ['spaces and a Greek letter in the version', 'version', 'Release 7 – β'],
    ['a category alias that repeats its category', 'features.2.category_aliases.webinar', 'Webinar'],
    ['a category alias in another case', 'features.2.category_aliases.fair', 'WEBINAR'],
    [
      'aliases whose names are special to MongoDB',
      'features.2.category_aliases',
      { $where: 'Webinar', 'a.b': 'Referral' },
    ],
    ['a steep isotonic curve', 'calibration', { kind: 'isotonic', x: [0, 1e-9], y: [0, 1] }],
    ['a flat platt curve', 'calibration', { kind: 'platt', a: 1e-6, b: 0 }],
    ['a best fifth that converts in every case', 'validation', { base_rate: 0.2, holdout_top_lift: 5 }],
    ['a field name of several words', 'features.0.field', 'How did you hear about us? '],
    ['a required feature', 'features.0.required', true],
    ['no explanation', 'explain', undefined],
    ['no validation facts', 'validation', undefined],
    ['unknown validation facts', 'validation.auc', 0.9],
  ];
  for (const [title, path, value] of accepted) {
    it(`accepts a manifest with ${title}`, () => {
      const parts = sampleParts();
      put(parts.manifest, path, value);
      expect(checkBundle(packSample(parts)).manifest.schema_version).to.equal(1);
    });
  }

  it('accepts a manifest with a byte order mark', () => {
    const files = sampleBundle();
    const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), files.get('manifest.json') ?? Buffer.alloc(0)]);
    expect(checkBundle(files.set('manifest.json', marked)).manifest.name).to.equal('Sample score');
  });

  it('accepts a manifest with unknown keys, and names them', () => {
    const parts = sampleParts();
    put(parts.manifest, 'trained_by', 'a person');
    expect(checkBundle(packSample(parts)).unknownKeys).to.deep.equal(['trained_by']);
  });

  it('accepts a manifest with an upper-case SHA-256', () => {
    const parts = sampleParts();
    const sha256 = checkBundle(packSample(parts)).manifest.onnx.sha256.toUpperCase();
    put(parts.manifest, 'onnx.sha256', sha256);
    expect(checkBundle(packSample(parts)).manifest.onnx.sha256).to.equal(sha256);
  });
});
