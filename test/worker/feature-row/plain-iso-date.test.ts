import { expect } from 'chai';
import fc from 'fast-check';
import { foldedText } from '../../../shared/contract/texts.js';
import { dateTextMs } from '../../../worker/feature-row/date-value.js';
import { plainIsoDateMs } from '../../../worker/feature-row/plain-iso-date.js';

const byPattern = (text: string): number => dateTextMs(foldedText(text), undefined);

const twoDigits = fc.integer({ min: 0, max: 99 }).map((value) => String(value).padStart(2, '0'));
const likely = (max: number) =>
  fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 0, max }) }, fc.integer({ min: 0, max: 99 }));
const padded = (max: number) => likely(max).map((value) => String(value).padStart(2, '0'));
const year = fc.oneof(fc.integer({ min: 1890, max: 2110 }), fc.integer({ min: 0, max: 9999 }));
const date = fc.tuple(year, padded(12), padded(31)).map(([y, m, d]) => `${String(y).padStart(4, '0')}-${m}-${d}`);
const time = fc
  .tuple(fc.constantFrom('T', 't', ' '), padded(24), padded(59), padded(59))
  .map(([between, ...parts]) => between + parts.join(':'));
const fraction = fc.oneof(
  fc.constant(''),
  fc.stringMatching(/^\d{0,18}$/).map((digits) => `.${digits}`),
  fc.integer({ min: 0, max: 999 }).map((ms) => `.${String(ms).padStart(3, '0')}`),
);
const zone = fc.oneof(
  fc.constantFrom('', 'Z', 'z', '+00:00', '-0000', '+05:30', '+24:00', '+00', 'ZZ', ' Z'),
  fc.tuple(fc.constantFrom('+', '-'), twoDigits, fc.constantFrom(':', ''), twoDigits).map((p) => p.join('')),
);
const dateTexts = fc.oneof(
  date,
  fc.tuple(date, time, fraction, zone).map((parts) => parts.join('')),
);
/** A date text with one character replaced by a similar one. */
const almost = fc
  .tuple(dateTexts, fc.nat(40), fc.constantFrom('-', ':', '+', '.', 'T', 'Z', ' ', '0', '9', '/', 'x', '\uff12', ''))
  .map(([text, at, other]) => text.slice(0, at) + other + text.slice(at + 1));

describe('plainIsoDateMs', () => {
  it('parses the ISO 8601 forms that programs write', () => {
    const instant = Date.parse('2024-02-29T10:20:30Z');
    for (const zoned of ['', 'Z', 'z', '+00:00', '-0000']) {
      expect(plainIsoDateMs(`2024-02-29T10:20:30${zoned}`), zoned).to.equal(instant);
      expect(plainIsoDateMs(`2024-02-29 10:20:30.250${zoned}`), zoned).to.equal(instant + 250);
    }
    expect(plainIsoDateMs('2024-02-29T15:50:30+05:30')).to.equal(instant);
    expect(plainIsoDateMs('2024-02-28T22:20:30.000-1200')).to.equal(instant);
    expect(plainIsoDateMs('2024-02-29')).to.equal(Date.parse('2024-02-29'));
    expect(plainIsoDateMs('1901-01-01')).to.equal(Date.parse('1901-01-01'));
    expect(plainIsoDateMs('2099-12-31')).to.equal(Date.parse('2099-12-31'));
  });

  it('returns NaN for every other form', () => {
    const others = ['', '2024-02-29 ', '20240229', '2024-02-30', '2023-02-29', '2024-02-29T10:20', '1900-01-01'];
    others.push('2024-02-29T24:00:00', '2024-02-29T10:20:30,5', '2024-02-29T10:20:30.', '2024-02-29T10:20:30+05');
    for (const text of others) expect(plainIsoDateMs(text), text).to.be.NaN;
  });

  it('parses every day from 1901 to 2099', () => {
    for (let ms = Date.UTC(1901, 0, 1); ms < Date.UTC(2100, 0, 1); ms += 86_400_000)
      if (plainIsoDateMs(new Date(ms).toISOString().slice(0, 10)) !== ms) expect.fail(new Date(ms).toISOString());
  });

  it('equals dateTextMs for every text that it parses', () => {
    fc.assert(
      fc.property(fc.oneof(dateTexts, almost), (text) => {
        const plain = plainIsoDateMs(text);
        if (!Number.isNaN(plain)) expect(plain, text).to.equal(byPattern(text));
      }),
      { numRuns: 5_000 },
    );
  });

  it('parses every instant that toISOString writes, with several zones', () => {
    const common = fc.tuple(
      fc.integer({ min: Date.UTC(1902, 0, 1), max: Date.UTC(2099, 0, 1) }),
      fc.constantFrom('Z', '+02:00', '-0530', ''),
    );
    fc.assert(
      fc.property(common, ([ms, zoned]) => {
        const text = new Date(ms).toISOString().slice(0, -1) + zoned;
        expect(plainIsoDateMs(text), text).to.equal(byPattern(text));
        expect(plainIsoDateMs(text), text).not.to.be.NaN;
      }),
      { numRuns: 1_000 },
    );
  });
});
