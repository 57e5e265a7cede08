import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import fc from 'fast-check';
import type { Feature } from '../../../shared/bundle/manifest/manifest.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import { compileFeatureRow } from '../../../worker/feature-row/feature-row.js';
import { bestMs } from '../../support/beats.js';
import { threadCpuMsOf } from '../../support/thread-cpu.js';

const features: readonly Feature[] = [
  { type: 'number', field: 'age', label: 'Age', columns: [0], impute: 40, missing_column: 1 },
  { type: 'boolean', field: 'opted in', label: 'Opted in', columns: [2] },
  {
    ...{
      type: 'category',
      encoding: 'onehot',
      field: 'source',
      label: 'Source',
      categories: ['web', 'fair'],
    },
    ...{ columns: [3, 4], other_column: 5, missing_column: 6 },
  },
  {
    type: 'category',
    encoding: 'ordinal',
    field: 'size',
    label: 'Size',
    categories: ['s', 'm'],
    columns: [7],
    impute: -1,
  },
  { type: 'multi', field: 'tags', label: 'Tags', categories: ['a', 'b'], columns: [8, 9] },
  { type: 'date', field: 'seen', label: 'Seen', columns: [10], missing_column: 11 },
  { type: 'category', encoding: 'onehot', field: 'age', label: 'New', categories: ['-1'], columns: [12] },
];
const nowMs = Date.parse('2026-03-02T00:00:00Z');
const rowWidth = 13;
const missingRow = [40, 1, Number.NaN, 0, 0, 0, 1, -1, 0, 0, Number.NaN, 1, 0];

function compiled(chosen: readonly Feature[] = features) {
  const manifest = { features: chosen, width: rowWidth, recency: { field: 'touched', max_age_days: 1 } };
  const fields = compileKnownFields(manifest);
  const row = compileFeatureRow(manifest, fields);
  const write = (record: Readonly<Record<string, unknown>>) => {
    const out = new Float32Array(rowWidth + 2).fill(7);
    const cells = JSON.parse(JSON.stringify(fields.pack(record)));
    const problems = row.write({ cells, nowMs: nowMs, out, offset: 1 });
    expect([out[0], out[rowWidth + 1]], 'outside the row').to.deep.equal([7, 7]);
    return { problems, row: Array.from(out.subarray(1, rowWidth + 1)) };
  };
  return { fields, row, write };
}

const required = (type: 'number' | 'multi'): Feature =>
  type === 'number'
    ? { type, field: 'age', label: 'Age', columns: [0], required: true }
    : { type, field: 'tags', label: 'Tags', categories: ['a'], columns: [1], required: true };

describe('compileFeatureRow', () => {
  it('writes features of every type, including two features on one field', () => {
    const record = {
      ...{ age: '-1', 'Opted In': 'yes', source: 'FAIR', size: 'm', tags: ['b', null, 'x'] },
      seen: '2026-03-01',
    };
    const { problems, row } = compiled().write(record);
    expect(problems).to.equal(undefined);
    expect(row).to.deep.equal([-1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1]);
  });

  it('writes imputed values, NaN and missing columns for missing and unreadable values', () => {
    for (const record of [
      { tags: null },
      { age: null, 'opted in': '-', source: '', size: 'n/a', tags: [], seen: 'null' },
      { age: 'many', 'opted in': 'maybe', seen: 'yesterday', tags: 'none' },
    ]) {
      const { problems, row } = compiled().write(record);
      expect(problems).to.equal(undefined);
      expect(row.slice(0, 12)).to.deep.equal(missingRow.slice(0, 12));
    }
  });

  it('counts unreadable scalars and unseen values, but not missing ones', () => {
    const { row, write } = compiled();
    write({ age: 'many', 'opted in': 2, source: 'unheard of', seen: true, tags: 'x' });
    expect([row.unreadableCount, row.unseenCount]).to.deep.equal([3, 3]);
    write({ age: null, 'opted in': '-', seen: '' });
    expect([row.unreadableCount, row.unseenCount]).to.deep.equal([3, 3]);
  });

  it('reports objects, nested arrays, several values and numbers beyond float64 once per field', () => {
    const record = JSON.parse(
      '{"age":{"a":1},"opted in":[["x"]],"source":["web","fair"],"size":[null,null],"tags":["a",["b"]],"seen":1e999}',
    );
    expect(compiled().write(record).problems).to.deep.equal([
      { field: 'age', expected: 'a number', came: 'an object' },
      { field: 'opted in', expected: 'true or false', came: 'a nested array' },
      { field: 'source', expected: 'one text', came: 'an array of 2 values' },
      { field: 'size', expected: 'one text', came: 'an array of 2 values' },
      { field: 'tags', expected: 'a text or an array of texts', came: 'a nested array' },
      { field: 'seen', expected: 'a date', came: 'a number beyond 1.8e308' },
    ]);
  });

  it('rejects a record without any known field and accepts a record with a single null', () => {
    const nothing = [{ field: '', expected: 'at least one field that the model knows', came: 'none' }];
    for (const record of [{}, { other: 1 }, { touched: '2026-03-01' }])
      expect(compiled().write(record).problems).to.deep.equal(nothing);
    expect(compiled().write({ age: null }).problems).to.equal(undefined);
  });

  it('ignores an invalid value in a field that only the recency guard reads', () => {
    expect(compiled().write({ age: 1, touched: { a: 1 } }).problems).to.equal(undefined);
  });

  it('reports a required field without a readable value and describes the value', () => {
    const came = (record: Readonly<Record<string, unknown>>) =>
      compiled([required('number'), required('multi')])
        .write({ tags: 'zzz', ...record })
        .problems?.map((p) => p.came);
    expect(came({ age: 5 })).to.equal(undefined);
    expect(came({})).to.deep.equal(['nothing']);
    expect(came({ age: null })).to.deep.equal(['null']);
    expect(came({ age: 'n/a' })).to.deep.equal(['a text that means missing']);
    expect(came({ age: 'many' })).to.deep.equal(['a text that cannot be read']);
    expect(came({ age: true })).to.deep.equal(['a boolean that cannot be read']);
    expect(came({ age: 5, tags: [null, 'none'] })).to.deep.equal(['null']);
  });

  it('writes a finite row or reports problems for any JSON record, and never throws', () => {
    const { write } = compiled();
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.array(fc.oneof(fc.string(), fc.double(), fc.constant(null))),
      fc.constantFrom(Number.POSITIVE_INFINITY, 1e300, '\ud800', '1e400', '9'.repeat(500)),
      fc.string({ unit: 'binary' }),
    );
    const key = fc.oneof(fc.constantFrom(...features.map((feature) => feature.field)), fc.string());
    fc.assert(
      fc.property(fc.dictionary(key, value, { noNullPrototype: false }), (record) => {
        const { problems, row } = write(record);
        if (problems) expect(problems).to.have.length.of.at.least(1);
        else expect(row.every((number) => Number.isNaN(number) || Number.isFinite(number))).to.equal(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('featurizes megabytes of hostile text in less than 5 s of CPU time', async function () {
    this.timeout(60_000);
    const parts = ['1', '1 ', '1,', ' ', 'a;', ';', '\ufdfa', '2024-', '.', "'", '('];
    const { fields, row } = compiled();
    const out = new Float32Array(rowWidth);
    const writeAll = () => {
      for (const part of parts) {
        const text = part.repeat(2_000_000);
        const record = Object.fromEntries(features.map(({ field }) => [field, text]));
        expect(row.write({ cells: fields.pack(record), nowMs: nowMs, out, offset: 0 })).to.equal(undefined);
      }
    };
    expect(await bestMs(5_000, () => threadCpuMsOf(writeAll))).to.be.below(5_000);
  });
});

const width = 2_000;
/** Heap per feature. A loaded and explained model has two readers per feature. */
const maxBytesPerFeature = 4_000;

function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

describe('compileFeatureRow with 2,000 number features', () => {
  it('uses less than 4,000 bytes of heap per number feature', () => {
    const features = Array.from({ length: width }, (_, column): Feature => {
      const name = `number ${column}`;
      return { type: 'number', field: name, label: name, columns: [column] };
    });
    const slotOfFeature = features.map((_, slot) => slot);
    const before = heapUsed();
    const row = compileFeatureRow({ features, width }, { slotOfFeature });
    expect((heapUsed() - before) / width).to.be.below(maxBytesPerFeature);
    expect(row.width).to.equal(width);
  });
});
