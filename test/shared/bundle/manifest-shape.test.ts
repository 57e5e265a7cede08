import { expect } from 'chai';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { type BadManifest, itRefusesManifest, refusalOf } from '../../support/models/bundle-refusal.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';

const date = { field: 'created', label: 'Created', type: 'date', columns: [0] };
const multi = { field: 'topics', label: 'Topics', type: 'multi', columns: [0], categories: ['a'] };
const isotonic = (x: unknown, y: unknown) => ({ kind: 'isotonic', x, y });

/** Each row sets one member of the sample's manifest; undefined removes it. */
const rows: readonly BadManifest[] = [
  ['another schema version', 'schema_version', 2, 'schema_version must be 1, not 2'],
  ['no name', 'name', undefined, 'the manifest lacks "name"'],
  ['an empty name', 'name', '', /^name must be text .* not blank, but is ""$/],
  ['a blank name', 'name', '  ', /^name must be text/],
  ['a name with a control character', 'name', 'a\u001b[2Jb', /^name must be text without control characters/],
  ['a name of 201 characters', 'name', 'n'.repeat(201), /^name must NOT have more than 200 characters/],
  ['no version', 'version', undefined, 'the manifest lacks "version"'],
  ['a numeric version', 'version', 1, 'version must be string, not 1'],
  ['an empty version', 'version', '', /^version must be text .* at either end, but is ""$/],
  ['a version with a space at its end', 'version', '1 ', /^version must be text .* at either end/],
  ['a version with a lone surrogate', 'version', '1\ud800', /^version must be text/],
  ['a version of 65 characters', 'version', '1'.repeat(65), /^version must NOT have more than 64 characters/],
  ['an unknown family', 'family', 'backward', /^family must be one of \["forward","timing"\], not "backward"$/],
  ['a numeric training time', 'trained_at', 5, 'trained_at must be string, not 5'],
  [
    'a training time in words',
    'trained_at',
    'yesterday',
    /^trained_at is "yesterday", not a date of ISO 8601 such as 2026-01-31T09:30:00Z$/,
  ],
  ['a training time with slashes', 'trained_at', '01/02/2026', /^trained_at is/],
  ['a 30th of February', 'trained_at', '2026-02-30T00:00:00Z', /^trained_at is "2026-02-30/],
  ['no ONNX file name', 'onnx.file', undefined, 'onnx lacks "file"'],
  ['an ONNX file in another folder', 'onnx.file', '../model.onnx', /^onnx.file must be a plain file name/],
  ['an absolute ONNX file', 'onnx.file', '/etc/passwd', /^onnx.file must be a plain file name/],
  [
    'the manifest as ONNX file',
    'onnx.file',
    'manifest.json',
    'onnx.file is "manifest.json", a reserved name: rename the ONNX file',
  ],
  ['a SHA-256 that is not one', 'onnx.sha256', 'abc', 'onnx.sha256 must be 64 hexadecimal digits, but is "abc"'],
  ['an empty input name', 'onnx.input', '', /^onnx.input must NOT have fewer than 1 characters/],
  ['no output name', 'onnx.output', undefined, 'onnx lacks "output"'],
  ['an unknown kind', 'onnx.kind', 'margin', /^onnx.kind must be one of/],
  ['a negative positive class', 'onnx.positive_class', -1, 'onnx.positive_class must be >= 0, not -1'],
  ['a fractional positive class', 'onnx.positive_class', 0.5, /^onnx.positive_class must be integer/],
  ['a width of 0', 'width', 0, 'width must be >= 1, not 0'],
  ['a width that is a string', 'width', '6', 'width must be integer, not "6"'],
  ['a width above 10,000', 'width', 10_001, 'width must be <= 10000, not 10001'],
  ['no features', 'features', [], 'features must NOT have fewer than 1 items, but has 0'],
  ['features that are not a list', 'features', {}, 'features must be array, not an object'],
  ['a feature that is a string', 'features.0', 'company_size', 'features[0] must be object, not "company_size"'],
  [
    'a feature of an unknown type',
    'features.0.type',
    'text',
    'features[0].type must be one of ["number","boolean","category","multi","date"], not "text"',
  ],
  ['a feature without field', 'features.0.field', undefined, 'features[0] lacks "field"'],
  ['a feature without label', 'features.1.label', undefined, 'features[1] lacks "label"'],
  ['a NUL in a field', 'features.0.field', 'a\0b', /^features\[0\].field must be text/],
  [
    'a misspelt key',
    'features.2.missing_colum',
    5,
    'features[2] has the unknown key "missing_colum": correct or remove it',
  ],
  ['aliases that are not a list', 'features.0.aliases', 'size', 'features[0].aliases must be array, not "size"'],
  ['an empty alias', 'features.0.aliases', [''], /^features\[0\].aliases\[0\] must NOT have fewer than 1/],
  ['impute that is a string', 'features.0.impute', '0', 'features[0].impute must be number, not "0"'],
  [
    'impute that float32 cannot hold',
    'features.0.impute',
    1e39,
    /^features\[0\].impute must be <= 3.4\d*e\+38, not 1e\+39/,
  ],
  ['impute that is null', 'features.0.impute', null, 'features[0].impute must be number, not null'],
  ['required that is a string', 'features.0.required', 'yes', 'features[0].required must be boolean, not "yes"'],
  ['a number feature in two columns', 'features.0.columns', [0, 1], /^features\[0\].columns must NOT have more than 1/],
  ['a feature without columns', 'features.1.columns', [], /^features\[1\].columns must NOT have fewer than 1/],
  ['a column that is a string', 'features.0.columns.0', '0', 'features[0].columns[0] must be integer, not "0"'],
  ['a negative column', 'features.0.columns.0', -1, 'features[0].columns[0] must be >= 0, not -1'],
  ['a fractional column', 'features.2.other_column', 4.5, /^features\[2\].other_column must be integer/],
  ['an unknown encoding', 'features.2.encoding', 'hash', /^features\[2\].encoding must be one of/],
  [
    'a category that is a number',
    'features.2.categories.0',
    7,
    /^features\[2\].categories\[0\] must be string, not 7$/,
  ],
  ['no categories', 'features.2.categories', undefined, 'features[2] lacks "categories"'],
  [
    'a category alias of a number',
    'features.2.category_aliases',
    { a: 1 },
    /category_aliases.a must be string, not 1$/,
  ],
  ['an unknown date order', 'features.0', { ...date, date_order: 'ymd' }, /^features\[0\].date_order must be one/],
  ['an empty separator', 'features.0', { ...multi, separator: '' }, /^features\[0\].separator must NOT/],
  [
    'an unknown calibration',
    'calibration',
    { kind: 'beta' },
    'calibration.kind must be one of ["identity","platt","isotonic"], not "beta"',
  ],
  ['platt without b', 'calibration', { kind: 'platt', a: 1 }, 'calibration lacks "b"'],
  ['platt with a string', 'calibration', { kind: 'platt', a: 'x', b: 0 }, 'calibration.a must be number, not "x"'],
  ['isotonic of one point', 'calibration', isotonic([0, 1], [0]), /^calibration.y must NOT have fewer than 2 items/],
  ['isotonic y above 1', 'calibration', isotonic([0, 1], [0, 1.5]), 'calibration.y[1] must be <= 1, not 1.5'],
  ['100 quantiles', 'quantiles', Array(100).fill(0.5), /^quantiles must NOT have fewer than 101 items, but has 100$/],
  ['102 quantiles', 'quantiles', Array(102).fill(0.5), /^quantiles must NOT have more than 101 items, but has 102$/],
  ['a quantile above 1', 'quantiles.100', 1.25, 'quantiles[100] must be <= 1, not 1.25'],
  ['a quantile below 0', 'quantiles.0', -0.25, 'quantiles[0] must be >= 0, not -0.25'],
  ['a quantile that is null', 'quantiles.3', null, 'quantiles[3] must be number, not null'],
  ['a missing token that is a number', 'missing_tokens', [0], 'missing_tokens[0] must be string, not 0'],
  ['a recency guard without max_age_days', 'recency', { field: 'created' }, 'recency lacks "max_age_days"'],
  ['a recency guard of 0 days', 'recency', { field: 'a', max_age_days: 0 }, 'recency.max_age_days must be > 0, not 0'],
  [
    'a negative future tolerance',
    'recency',
    { field: 'a', max_age_days: 9, future_tolerance_days: -1 },
    'recency.future_tolerance_days must be >= 0, not -1',
  ],
  [
    'an unknown key in the recency guard',
    'recency',
    { field: 'a', max_age_days: 9, max_age_hours: 1 },
    'recency has the unknown key "max_age_hours": correct or remove it',
  ],
  [
    'an unknown explain kind',
    'explain',
    { kind: 'shap' },
    'explain.kind must be one of ["tree","linear","baseline"], not "shap"',
  ],
  ['explain kind tree without covers', 'explain', { kind: 'tree' }, 'explain lacks "covers"'],
  [
    'a covers file in another folder',
    'explain',
    { kind: 'tree', covers: 'a/b' },
    /^explain.covers must be a plain file/,
  ],
  ['a mean that is a string', 'explain.means.1', 'x', 'explain.means[1] must be number, not "x"'],
  ['a horizon of half a day', 'validation.horizon_days', 0.5, /^validation.horizon_days must be (integer|>= 1)/],
  [
    'a horizon above a century',
    'validation.horizon_days',
    1e9,
    'validation.horizon_days must be <= 36500, not 1000000000',
  ],
  ['a horizon of 0 days', 'validation.horizon_days', 0, 'validation.horizon_days must be >= 1, not 0'],
  ['a base rate of 0', 'validation.base_rate', 0, 'validation.base_rate must be > 0, not 0'],
  ['a base rate of 1', 'validation.base_rate', 1, 'validation.base_rate must be < 1, not 1'],
  ['an end of its data in words', 'validation.data_until', 'last June', /^validation.data_until is "last June", not a/],
  ['a numeric end of its data', 'validation.data_until', 5, 'validation.data_until must be string, not 5'],
  [
    'a 30th of February as the end of its data',
    'validation.data_until',
    '2026-02-30',
    /^validation.data_until is "2026/,
  ],
  ['a lift of 0', 'validation.holdout_top_lift', 0, 'validation.holdout_top_lift must be > 0, not 0'],
];

describe('the manifest schema', () => {
  for (const [title, ...row] of rows) itRefusesManifest([`a manifest with ${title}`, ...row]);

  const texts: readonly (readonly [title: string, bytes: Buffer, reason: RegExp])[] = [
    ['is empty', Buffer.alloc(0), /^is not JSON/],
    ['is cut short', Buffer.from('{"name":'), /^is not JSON/],
    ['is a list', Buffer.from('[]'), /^the manifest must be object, not a list$/],
    ['is null', Buffer.from('null'), /^the manifest must be object, not null$/],
    ['holds NaN', Buffer.from('{"width":NaN}'), /^is not JSON/],
    ['is not UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), /^is not UTF-8 text: save the file as UTF-8$/],
    ['is UTF-16', Buffer.from('{}', 'utf16le'), /^is not JSON/],
  ];
  for (const [title, bytes, reason] of texts) {
    it(`refuses a manifest that ${title}`, () => {
      const error = refusalOf(() => checkBundle(sampleBundle().set('manifest.json', bytes)));
      expect(error.member).to.equal('manifest.json');
      expect(error.reason).to.match(reason);
    });
  }

  it('refuses a manifest with a number beyond float64', () => {
    const files = sampleBundle({ manifest: { calibration: { kind: 'platt', a: 1, b: 12345 } } });
    const text = String(files.get('manifest.json')).replace('12345', '1e999');
    const error = refusalOf(() => checkBundle(files.set('manifest.json', Buffer.from(text))));
    expect(error.reason).to.match(/^calibration.b must be number/);
  });
});
