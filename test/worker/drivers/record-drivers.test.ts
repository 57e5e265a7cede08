import { expect } from 'chai';
import fc from 'fast-check';
import type { Feature, Manifest } from '../../../shared/bundle/manifest/manifest.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import { DriverWriter, driverFields } from '../../../worker/drivers/record-drivers.js';
import { compileFeatureRow } from '../../../worker/feature-row/feature-row.js';
import { numbersManifest } from './compiled.js';

const nowMs = Date.parse('2026-06-01T00:00:00Z');

function withFeatures(features: readonly Feature[], width: number): Manifest {
  return { ...numbersManifest(1), width, features };
}

function writerOf(manifest: Manifest) {
  const knownFields = compileKnownFields(manifest);
  const writer = new DriverWriter(manifest, knownFields);
  const featureRow = compileFeatureRow(manifest, knownFields);
  /** Returns the drivers of a record as [field, contribution in ten-thousandths, value]. */
  return (record: Readonly<Record<string, unknown>>, contributions: readonly number[]) => {
    // Through JSON, like records in a job.
    const cells = JSON.parse(JSON.stringify(knownFields.pack(record)));
    const readings = new Uint8Array(manifest.features.length);
    featureRow.write({ cells, nowMs, out: new Float32Array(manifest.width), offset: 0, readings });
    const packed = writer.write({ contributions: Float64Array.from(contributions), cells, readings });
    return Array.from({ length: packed.length / 3 }, (_, driver) => {
      const [index, contribution, value] = packed.slice(3 * driver, 3 * driver + 3);
      return [writer.fields[Number(index)]?.[0], contribution, value];
    });
  };
}

const numbers = (width: number) => writerOf(numbersManifest(width));

describe('DriverWriter', () => {
  it('orders drivers by magnitude, regardless of their sign', () => {
    const drivers = numbers(3)({ c0: 1, c1: 2, c2: 3 }, [0.1, -0.5, 0.3]);
    expect(drivers).to.deep.equal([
      ['c1', -5000, '2'],
      ['c2', 3000, '3'],
      ['c0', 1000, '1'],
    ]);
  });

  it('keeps the order of the manifest for drivers of equal magnitude', () => {
    const drivers = numbers(4)({}, [0.25, -0.25, 0.5, 0.25]);
    expect(drivers.map(([field]) => field)).to.deep.equal(['c2', 'c0', 'c1', 'c3']);
  });

  it('returns at most ten drivers', () => {
    const drivers = numbers(15)(
      {},
      Array.from({ length: 15 }, (_, index) => 1 + index / 100),
    );
    expect(drivers.map(([field]) => field)).to.deep.equal(
      [14, 13, 12, 11, 10, 9, 8, 7, 6, 5].map((index) => `c${index}`),
    );
  });

  it('omits fields below 1 % of the total and keeps a field of exactly 1 %', () => {
    const drivers = numbers(3)({}, [98.5, -1, 0.5]);
    expect(drivers.map(([field]) => field)).to.deep.equal(['c0', 'c1']);
    const below = numbers(3)({}, [98.52, -0.98, 0.5]);
    expect(below.map(([field]) => field)).to.deep.equal(['c0']);
  });

  it('returns no drivers if all contributions round to 0 at four decimals', () => {
    expect(numbers(2)({}, [0, 0])).to.deep.equal([]);
    expect(numbers(2)({}, [0.00004, -0.00002])).to.deep.equal([]);
  });

  it('rounds contributions to four decimals', () => {
    const drivers = numbers(2)({}, [0.00016, -0.00026]);
    expect(drivers.map(([, contribution]) => contribution)).to.deep.equal([-3, 2]);
  });

  it('selects, orders and rounds drivers by the rules for any contributions', () => {
    const contribution = fc.double({ min: -5, max: 5, noNaN: true });
    fc.assert(
      fc.property(fc.array(contribution, { minLength: 1, maxLength: 30 }), (contributions) => {
        const drivers = numbers(contributions.length)({}, contributions);
        const total = contributions.reduce((sum, each) => sum + Math.abs(each), 0);
        const counting = contributions.filter((each) => Math.abs(each) >= total / 100 && Math.abs(each) >= 0.00005);
        expect(drivers).to.have.length(Math.min(10, counting.length));
        const sizes = drivers.map(([, size]) => Math.abs(Number(size)));
        expect(sizes).to.deep.equal([...sizes].sort((one, other) => other - one));
        for (const [field, size] of drivers) {
          const exact = contributions[Number(String(field).slice(1))] ?? 0;
          expect(Number(size) / 10_000).to.be.closeTo(exact, 0.00005 + 1e-12);
        }
      }),
    );
  });
});

describe('the value of a driver', () => {
  const features: Feature[] = [
    { field: 'Amount', label: 'Amount', type: 'number', columns: [0] },
    { field: 'Opted out', label: 'Opted out', type: 'boolean', columns: [1] },
    {
      field: 'Source',
      label: 'Lead source',
      type: 'category',
      encoding: 'onehot',
      categories: ['Web', 'None'],
      columns: [2, 3],
      other_column: 4,
      missing_column: 5,
    },
    {
      field: 'Products',
      label: 'Products',
      type: 'multi',
      categories: ['A', 'B'],
      separator: '|',
      columns: [6, 7],
    },
    { field: 'Created', label: 'Created', type: 'date', columns: [8] },
  ];
  const write = writerOf(withFeatures(features, 9));
  const textOf = (field: string, value: unknown): unknown => {
    const wanted = features.findIndex((feature) => feature.field === field);
    const contributions = features.map((_, index) => (index === wanted ? 1 : 0));
    return write({ [field]: value }, contributions)[0]?.[2];
  };

  const sent: readonly (readonly [field: string, value: unknown, text: string])[] = [
    ['Amount', 1200.5, '1200.5'],
    ['Amount', '$1,200', '$1,200'],
    ['Amount', 0, '0'],
    ['Amount', 1e21, '1e+21'],
    ['Amount', [7], '7'],
    ['Opted out', false, 'false'],
    ['Opted out', 'Yes', 'Yes'],
    ['Source', 'web', 'web'],
    ['Source', ' Fair ', ' Fair '],
    ['Source', 'none', 'none'],
    ['Source', 5, '5'],
    ['Products', 'A|B', 'A|B'],
    ['Products', ['A', 'B', null], 'A|B'],
    ['Created', '2026-03-01', '2026-03-01'],
    ['Created', 1_780_000_000, '1780000000'],
  ];
  for (const [field, value, text] of sent)
    it(`returns the driver value as sent: ${field} ${JSON.stringify(value)}`, () => {
      expect(textOf(field, value)).to.equal(text);
    });

  const missing: readonly (readonly [field: string, value: unknown])[] = [
    ['Amount', null],
    ['Amount', undefined],
    ['Amount', 'n/a'],
    ['Amount', '11-50'],
    ['Amount', true],
    ['Opted out', 'maybe'],
    ['Source', ''],
    ['Source', '  '],
    ['Source', '-'],
    ['Products', []],
    ['Created', 'yesterday'],
  ];
  for (const [field, value] of missing)
    it(`returns an empty driver value for an unread cell: ${field} ${JSON.stringify(value)}`, () => {
      expect(textOf(field, value)).to.equal('');
    });

  it('truncates a driver value to 255 UTF-16 units without splitting a surrogate pair', () => {
    expect(textOf('Source', 'x'.repeat(255))).to.equal('x'.repeat(255));
    expect(textOf('Source', 'x'.repeat(256))).to.equal(`${'x'.repeat(254)}…`);
    expect(textOf('Source', `${'x'.repeat(253)}😀😀`)).to.equal(`${'x'.repeat(253)}…`);
  });

  it('returns the driver value if any feature of the field could read it', () => {
    const two = writerOf(
      withFeatures(
        [
          { field: 'Size', label: 'Company size', type: 'number', columns: [0] },
          {
            field: 'Size',
            label: 'Size band',
            type: 'category',
            encoding: 'ordinal',
            categories: ['11-50'],
            columns: [1],
          },
        ],
        2,
      ),
    );
    expect(two({ size: '11-50' }, [1])).to.deep.equal([['Size', 10_000, '11-50']]);
  });
});

describe('DriverWriter.unseen', () => {
  const source: Feature = {
    ...{ field: 'Source', label: 'Source', type: 'category', encoding: 'ordinal' },
    ...{ categories: ['web'], columns: [0] },
  };
  const size: Feature = { field: 'Source', label: 'Size', type: 'number', columns: [1] };
  const day: Feature = { field: 'Source', label: 'Day', type: 'date', date_order: 'dmy', columns: [1] };
  const tags: Feature = { field: 'Tags', label: 'Tags', type: 'multi', categories: ['A', 'B'], columns: [2, 3] };

  function unseenOf(features: readonly Feature[], record: Readonly<Record<string, unknown>>): readonly number[] {
    const manifest = withFeatures(features, 4);
    const knownFields = compileKnownFields(manifest);
    const writer = new DriverWriter(manifest, knownFields);
    const cells = knownFields.pack(record);
    const [row, readings] = [new Float32Array(4), new Uint8Array(features.length)];
    compileFeatureRow(manifest, knownFields).write({ cells, nowMs, out: row, offset: 0, readings });
    const contributions = Float64Array.from(writer.fields, () => 1);
    return writer.unseen(writer.write({ contributions, cells, readings }), { row, readings });
  }

  for (const [what, features, record, unseen] of [
    ['an unknown category', [source], { source: 'SaaS' }, [0]],
    ['a known category', [source], { source: 'Web' }, []],
    ['a missing value', [source], {}, []],
    ['a category that another feature reads as a number', [source, size], { source: '420' }, []],
    ['a category that another feature reads as an ambiguous date', [source, day], { source: '3/4/2026' }, []],
    ['a list without a known value', [source, tags], { source: 'web', tags: 'C;D' }, [1]],
    ['a list with a known value', [tags], { tags: ['C', 'A'] }, []],
  ] as const)
    it(`returns ${unseen.length === 0 ? 'nothing' : 'the field'} for ${what}`, () => {
      expect(unseenOf(features, record)).to.deep.equal(unseen);
    });
});

describe('driverFields', () => {
  it('assigns all columns of a feature to its field, including other_column and missing_column', () => {
    const features: Feature[] = [
      { field: 'Age', label: 'Age', type: 'number', columns: [3], missing_column: 0 },
      {
        field: 'Source',
        label: 'Source',
        type: 'category',
        encoding: 'onehot',
        categories: ['Web'],
        columns: [1],
        other_column: 4,
        missing_column: 2,
      },
      { field: 'Age', label: 'Age in days', type: 'date', columns: [5] },
    ];
    const { fields, fieldOfColumn } = driverFields({ features, width: 6 });
    expect(fields).to.deep.equal([
      { field: 'Age', label: 'Age', features: [0, 2] },
      { field: 'Source', label: 'Source', features: [1] },
    ]);
    expect(Array.from(fieldOfColumn)).to.deep.equal([0, 1, 1, 0, 1, 0]);
  });
});
