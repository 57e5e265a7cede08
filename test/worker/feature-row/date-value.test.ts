import { expect } from 'chai';
import fc from 'fast-check';
import type { DateFeature } from '../../../shared/bundle/manifest/manifest.js';
import type { Scalar } from '../../../shared/messages/cells.js';
import {
  compileMissingTexts,
  missingSentinel,
  unreadableSentinel,
  wasAmbiguous,
  wasMissing,
  wasRead,
  wasUnreadable,
} from '../../../worker/feature-row/cell-reading.js';
import { compileDateReader, compileDateWriter } from '../../../worker/feature-row/date-value.js';

const read = compileDateReader({}, compileMissingTexts(['1970-01-01']));
/** Without a date among its missing texts, the reader uses `plainIsoDateMs`. */
const readPlainly = compileDateReader({}, compileMissingTexts());
const readDayFirst = compileDateReader({ date_order: 'dmy' }, compileMissingTexts());
const readMonthFirst = compileDateReader({ date_order: 'mdy' }, compileMissingTexts());

const instantText = '2024-02-29T10:20:30.000Z';
const dateCases: readonly (readonly [Scalar, string])[] = [
  ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  [' 2024-02-29 ', '2024-02-29T00:00:00.000Z'],
  ['20240229', '2024-02-29T00:00:00.000Z'],
  ['2024-02-29T10:20:30Z', instantText],
  ['2024-02-29t10:20:30z', instantText],
  ['2024-02-29T10:20:30', instantText],
  ['2024-02-29 10:20:30', instantText],
  ['2024-02-29T10:20', '2024-02-29T10:20:00.000Z'],
  ['2024-02-29T10', '2024-02-29T10:00:00.000Z'],
  ['2024-02-29T10:20:30.125Z', '2024-02-29T10:20:30.125Z'],
  ['2024-02-29T10:20:30,5Z', '2024-02-29T10:20:30.500Z'],
  ['2024-02-29T10:20:30.000+0000', instantText],
  ['2024-02-29T10:20:30+00:00', instantText],
  ['2024-02-29T10:20:30+00', instantText],
  ['2024-02-29T15:50:30+05:30', instantText],
  ['2024-02-28T22:20:30 -1200', instantText],
  ['20240229T102030Z', instantText],
  ['2024-02-29T24:00:00Z', '2024-03-01T00:00:00.000Z'],
  ['1900-01-01', '1900-01-01T00:00:00.000Z'],
  ['2100-12-31T23:59:59.999Z', '2100-12-31T23:59:59.999Z'],
  ['\uff12024-02-29', '2024-02-29T00:00:00.000Z'],
  [1_709_202_030, instantText],
  [1_709_202_030.5, '2024-02-29T10:20:30.500Z'],
  [1_709_202_030_000, instantText],
  [1_709_202_030_000_000, instantText],
  [-1_000_000_000_000, '1938-04-24T22:13:20.000Z'],
  ['1709202030', instantText],
  ['1709202030000', instantText],
  ['1709202030.5', '2024-02-29T10:20:30.500Z'],
];

const unreadableValues: readonly Scalar[] = [
  '2025-02-30',
  '2023-02-29',
  '2024-13-01',
  '2024-00-10',
  '2024-01-00',
  '2024-01-32',
  '0024-01-01',
  '1899-12-31',
  '2101-01-01',
  '1900-01-01T00:00:00+00:01',
  '2024-02-29T25:00',
  '2024-02-29T24:00:01',
  '2024-02-29T10:60',
  '2024-02-29T10:20:61',
  '2024-02-29T10:20:30+25:00',
  '2024-02',
  '2024',
  '2024-2-9',
  '2024-0229',
  '29.02.2024',
  '29-02-2024',
  '02/29/2024',
  '29/02/2024',
  '2024/02/29',
  'yesterday',
  'Feb 29, 2024',
  '12345678',
  'T10:20',
  true,
  0,
  -86_400,
  4_133_980_800,
  -2_208_988_801,
  1e30,
  '2024-02-29T10:20:30ZZ',
];

describe('a date feature', () => {
  for (const [value, iso] of dateCases) {
    it(`reads the date cell ${JSON.stringify(value)} as ${iso}`, () => {
      expect(read(value)).to.equal(Date.parse(iso));
      expect(readPlainly(value)).to.equal(Date.parse(iso));
    });
  }
  for (const value of unreadableValues) {
    it(`reads the date cell ${JSON.stringify(value)} as unreadable`, () => {
      expect(read(value)).to.equal(unreadableSentinel);
      expect(readPlainly(value)).to.equal(unreadableSentinel);
    });
  }
  for (const value of ['', 'null', 'N/A', '-', '1970-01-01'])
    it(`reads the date cell ${JSON.stringify(value)} as missing`, () => expect(read(value)).to.equal(missingSentinel));

  it('reads dates with slashes only in the order of date_order', () => {
    expect(readDayFirst('29/02/2024')).to.equal(Date.parse('2024-02-29'));
    expect(readDayFirst('1/2/2024')).to.equal(Date.parse('2024-02-01'));
    expect(readMonthFirst('1/2/2024')).to.equal(Date.parse('2024-01-02'));
    expect(readMonthFirst('02/29/2024 3:45 PM')).to.equal(Date.parse('2024-02-29T15:45Z'));
    expect(readMonthFirst('02/29/2024, 12:05 am')).to.equal(Date.parse('2024-02-29T00:05Z'));
    expect(readDayFirst('29/02/2024 10:20:30')).to.equal(Date.parse(instantText));
    for (const text of ['02/29/2024', '30/02/2024', '29/02/24', '29/02/2024 13:00 pm', '29/02/2024 25:00'])
      expect(readDayFirst(text), text).to.equal(unreadableSentinel);
    expect(readDayFirst('2024-02-29')).to.equal(Date.parse('2024-02-29'));
  });

  it('notes a date that is another day in the other order', () => {
    const readings = (date_order?: 'dmy' | 'mdy') => {
      const feature = { type: 'date', field: 'When', label: 'When', columns: [0], ...(date_order && { date_order }) };
      const write = compileDateWriter(feature as DateFeature, compileMissingTexts(['01/02/1900']));
      return (value: Scalar) => write(value, { out: new Float32Array(1), offset: 0, nowMs: 0 });
    };
    const dayFirst = readings('dmy');
    const monthFirst = readings('mdy');
    for (const text of ['03/04/2026', ' 1/12/2024 ', '12/11/2024 13:00'])
      expect([dayFirst(text), monthFirst(text), readings()(text)], text).to.deep.equal([
        wasAmbiguous,
        wasAmbiguous,
        wasUnreadable,
      ]);
    for (const value of ['03/03/2026', '2026-03-04', '20260304', 20260304, '1772582400', 46085])
      expect([dayFirst(value), monthFirst(value)], String(value)).to.deep.equal([wasRead, wasRead]);
    expect([dayFirst('13/04/2026'), monthFirst('13/04/2026')]).to.deep.equal([wasRead, wasUnreadable]);
    expect([dayFirst('04/13/2026'), monthFirst('04/13/2026')]).to.deep.equal([wasUnreadable, wasRead]);
    expect(dayFirst('01/02/1900')).to.equal(wasMissing);
    const part = fc.integer({ min: 0, max: 32 });
    const year = fc.integer({ min: 1899, max: 2101 });
    const time = fc.constantFrom('', ' 24:00:00', ', 3:45 PM');
    fc.assert(
      fc.property(part, part, year, time, (first, second, of, at) => {
        const text = `${first}/${String(second).padStart(2, '0')}/${of}${at}`;
        const both = [readDayFirst(text), readMonthFirst(text)].filter(Number.isFinite);
        const isAmbiguous = new Set(both).size === 2;
        expect([dayFirst(text), monthFirst(text)].includes(wasAmbiguous), text).to.equal(isAmbiguous);
      }),
    );
  });

  const instant = fc.integer({ min: Date.UTC(1900, 0, 1), max: Date.UTC(2101, 0, 1) - 1 });

  it('reads back every instant from 1900 to 2100 in any zone', () => {
    fc.assert(
      fc.property(instant, fc.integer({ min: -14 * 60, max: 14 * 60 }), (ms, minutes) => {
        const local = new Date(ms + minutes * 60_000).toISOString().slice(0, -1);
        const size = Math.abs(minutes);
        const digits = [Math.floor(size / 60), size % 60].map((part) => String(part).padStart(2, '0'));
        const sign = minutes < 0 ? '-' : '+';
        for (const zone of [`${sign}${digits.join(':')}`, `${sign}${digits.join('')}`])
          expect(read(local + zone), local + zone).to.equal(ms);
        expect(read(new Date(ms).toISOString())).to.equal(ms);
      }),
    );
  });

  it('reads back Unix time since late 1973 in seconds, milliseconds and microseconds', () => {
    fc.assert(
      fc.property(fc.integer({ min: 124_000_000_000, max: Date.UTC(2100, 0, 1) }), (ms) => {
        expect([read(ms), read(ms * 1000), read(Math.floor(ms / 1000))]).to.deep.equal([
          ms,
          ms,
          Math.floor(ms / 1000) * 1000,
        ]);
      }),
    );
  });

  it('reads a number as the text of its digits', () => {
    const day = fc.integer({ min: 18_000_000, max: 22_000_000 });
    const small = fc.double({ min: -1e9, max: 1e9, noNaN: true });
    const number = fc.oneof(day, small, fc.integer({ min: 18_000, max: 74_000 }), fc.maxSafeInteger());
    const written = number.filter((value) => !String(value).includes('e'));
    fc.assert(
      fc.property(written, (value) => {
        expect(readPlainly(value)).to.equal(readPlainly(String(value)));
      }),
      { numRuns: 3000 },
    );
  });

  it('accepts exactly the days of the calendar', () => {
    const part = (max: number) => fc.integer({ min: 0, max });
    fc.assert(
      fc.property(fc.integer({ min: 1900, max: 2100 }), part(13), part(32), (year, month, day) => {
        const text = [year, month, day].map((number) => String(number).padStart(2, '0')).join('-');
        const lengths = [31, year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28];
        lengths.push(31, 30, 31, 30, 31, 31, 30, 31, 30, 31);
        const exists = month >= 1 && month <= 12 && day >= 1 && day <= (lengths[month - 1] ?? 0);
        expect(read(text) !== unreadableSentinel && read(text) !== missingSentinel, text).to.equal(
          exists && text !== '1970-01-01',
        );
      }),
      { numRuns: 500 },
    );
  });

  it('writes the fractional days from the date to the request', () => {
    const out = new Float32Array(2);
    const write = compileDateWriter(
      { type: 'date', field: 'f', label: 'f', columns: [1], missing_column: 0 },
      compileMissingTexts(),
    );
    write('2024-02-29T12:00:00Z', { out, offset: 0, nowMs: Date.parse('2024-03-02T00:00:00Z') });
    expect(Array.from(out)).to.deep.equal([0, 1.5]);
    write('2024-03-03', { out, offset: 0, nowMs: Date.parse('2024-03-02T00:00:00Z') });
    expect(out[1]).to.equal(-1);
  });
});
