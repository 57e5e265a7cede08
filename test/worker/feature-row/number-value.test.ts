import { expect } from 'chai';
import fc from 'fast-check';
import { compileMissingTexts, missingSentinel, unreadableSentinel } from '../../../worker/feature-row/cell-reading.js';
import { compileNumberReader, compileNumberWriter, plainDecimal } from '../../../worker/feature-row/number-value.js';

const read = compileNumberReader({}, compileMissingTexts());
const readFraction = compileNumberReader({ unit: 'fraction' }, compileMissingTexts());

const numberCases: readonly (readonly [unknown, number])[] = [
  [5, 5],
  [-0.25, -0.25],
  [1e30, 1e30],
  ['5', 5],
  [' 5 ', 5],
  ['+5', 5],
  ['-5', -5],
  ['\u22125', -5],
  ['5.', 5],
  ['.5', 0.5],
  ['927.0', 927],
  ['1e5', 100_000],
  ['1.5E+3', 1500],
  ['1,5e3', 1500],
  ['1,200', 1200],
  ['1.200', 1.2],
  ['1,5', 1.5],
  ['1,25', 1.25],
  ['1,2345', 1.2345],
  ['0,125', 0.125],
  ['-0,125', -0.125],
  [',125', 0.125],
  ['1234,567', 1_234_567],
  ['1.200,5', 1200.5],
  ['1.200,500', 1200.5],
  ['1,200.5', 1200.5],
  ['2,240.50', 2240.5],
  ['1,234,567', 1_234_567],
  ['1.234.567', 1_234_567],
  ['1.234.567,8', 1_234_567.8],
  ['12,34,567', 1_234_567],
  ['1,00,000.50', 100_000.5],
  ['1 061', 1061],
  ['1\u00a0061', 1061],
  ['1\u202f234\u202f567,5', 1_234_567.5],
  ['1 234,56', 1234.56],
  ["1'234'567.5", 1_234_567.5],
  ['1\u2019234', 1234],
  ["'5", 5],
  ['$5k', 5000],
  ['\u20ac2,5K', 2500],
  ['2.5m', 2_500_000],
  ['3 B', 3_000_000_000],
  ['1,200k', 1_200_000],
  ['1.1k', 1100],
  ['$ 1,200.50', 1200.5],
  ['-$5', -5],
  ['$-5', -5],
  ['$ 5 USD', 5],
  ['US$5', 5],
  ['R$ 1.200,50', 1200.5],
  ['\u20a8 500', 500],
  ['Rs. 500', 500],
  ['\ufdfc 500', 500],
  ['\u20b91,00,000', 100_000],
  ['USD 5', 5],
  ['CA$ 7', 7],
  ['NT$ 300', 300],
  ['12 M€', 12_000_000],
  ['12 k€', 12_000],
  ['12 345', 12_345],
  ['usd 5', 5],
  ['5 EUR', 5],
  ['5kEUR', 5000],
  ['CHF 1\u2019200.50', 1200.5],
  ['5 MXN', 5],
  ['(5)', -5],
  ['( 1,200 )', -1200],
  ['$(5)', -5],
  ['($5)', -5],
  ['(5k) USD', -5000],
  ['(5%)', -5],
  ['45%', 45],
  ['45 %', 45],
  ['(45)%', -45],
  ['1,5%', 1.5],
  ['\uff15\uff10', 50],
  ['\uff0d\uff15', -5],
  ['123456789012345678901234567890', 1.2345678901234568e29],
  ['0.1000000000000000055511151231257827', 0.1],
];

const unreadableValues = [
  'M$12',
  'k$5',
  'B$ 3',
  'T$ 3',
  '12 T€',
  '12 MM€',
  '12 34',
  '1 2',
  '11-50',
  '11 - 50',
  '11\u201350',
  '1-2',
  'abc',
  '5 apples',
  '5 yrs',
  'ABC 5',
  '~5',
  '>5',
  '5+',
  '5-',
  '--5',
  '+-5',
  '-(5)',
  '(-5)',
  '(5',
  '5)',
  '()',
  '$',
  'USD',
  '%',
  '5%%',
  '(5%)%',
  'k',
  '1,2,3',
  '1.2.3',
  '10.0.0.1',
  '10.12.202',
  '1,23,4',
  '1,234,56',
  '1,234.567,8',
  '12,34.5',
  '1234,567.8',
  '31.01.2024',
  '5 10',
  '555 1234',
  '1 2 3',
  '1, 200',
  "1'2",
  '1_000',
  '0x10',
  '1e',
  'e5',
  'Infinity',
  '-inf',
  '1e999',
  '1/2',
  '5kk',
  '5 km',
  '$$5',
  'USD 5 EUR',
  '$5\u20ac',
  '5 USD EUR',
  '\u0665',
  'true',
  '.',
  ',',
  '- -',
  `${'1,000,'.repeat(40)}000`,
  true,
  false,
] as const;

describe('a number feature', () => {
  for (const [value, number] of numberCases)
    it(`reads the number cell ${JSON.stringify(value)} as ${number}`, () =>
      expect(read(value as string)).to.equal(number));

  for (const value of unreadableValues)
    it(`reads the number cell ${JSON.stringify(value)} as unreadable`, () =>
      expect(read(value)).to.equal(unreadableSentinel));

  for (const text of ['', '  ', 'null', 'NULL', 'None', 'n/a', 'NA', 'NaN', '#N/A', '-', ' - '])
    it(`reads the number cell ${JSON.stringify(text)} as missing`, () => expect(read(text)).to.equal(missingSentinel));

  it('divides percentages by 100 only if the unit is a fraction', () => {
    expect(readFraction('45%')).to.equal(0.45);
    expect(readFraction('(4,5 %)')).to.equal(-0.045);
    expect(readFraction('7k%')).to.equal(70);
    expect(readFraction('45')).to.equal(45);
    expect(readFraction(0.45)).to.equal(0.45);
  });

  it('reads missing_tokens as missing, including numeric ones', () => {
    const withTokens = compileNumberReader({}, compileMissingTexts(['Unknown', '-1']));
    expect(withTokens('UNKNOWN')).to.equal(missingSentinel);
    expect(withTokens('-1')).to.equal(missingSentinel);
    expect(withTokens(-1)).to.equal(-1);
    expect(withTokens('12')).to.equal(12);
  });

  it('clamps numbers to the range of float32', () => {
    const out = new Float32Array(1);
    const write = compileNumberWriter({ type: 'number', field: 'f', label: 'f', columns: [0] }, new Set());
    for (const [value, sign] of [
      [1e300, 1],
      ['-1e300', -1],
    ] as const) {
      write(value, { out, offset: 0, nowMs: 0 });
      expect(out[0]).to.equal(sign * 3.4028234663852886e38);
    }
  });

  it('reads back amounts in each of several formats', () => {
    const cents = fc.integer({ min: -1_000_000_000_00, max: 1_000_000_000_00 });
    fc.assert(
      fc.property(cents, fc.constantFrom(...styles), (amount, style) => {
        const [sign, size] = [amount < 0 ? '-' : '', Math.abs(amount)];
        const whole = String(Math.floor(size / 100));
        const text = style({ sign, whole, decimals: String(size % 100).padStart(2, '0') });
        expect(read(text), text).to.equal(sign ? -size / 100 : size / 100);
      }),
      { numRuns: 1000 },
    );
  });

  it('returns a finite number, missing or unreadable for any text, and never throws', () => {
    const amountLike = fc.string({
      unit: fc.constantFrom(...`0123456789.,' +-()$%kmbe\u20ac`),
      maxLength: 40,
    });
    fc.assert(
      fc.property(fc.oneof(amountLike, fc.string({ unit: 'binary' })), (text) => {
        const value = read(text);
        expect(Number.isFinite(value) || value === missingSentinel || value === unreadableSentinel).to.equal(true);
      }),
      { numRuns: 2000 },
    );
  });
});

interface Amount {
  readonly sign: string;
  readonly whole: string;
  readonly decimals: string;
}

const grouped = (whole: string, separator: string): string => whole.replace(/\B(?=(\d{3})+$)/g, separator);
const indian = (whole: string): string => whole.replace(/\B(?=(\d{2})*\d{3}$)/g, ',');

const styles: readonly ((amount: Amount) => string)[] = [
  ({ sign, whole, decimals }) => `${sign}${whole}.${decimals}`,
  ({ sign, whole, decimals }) => `${sign}${whole},${decimals}`,
  ({ sign, whole, decimals }) => `${sign}${grouped(whole, ',')}.${decimals}`,
  ({ sign, whole, decimals }) => `${sign}${grouped(whole, '.')},${decimals}`,
  ({ sign, whole, decimals }) => `${sign}${grouped(whole, ' ')},${decimals} \u20ac`,
  ({ sign, whole, decimals }) => `${sign}\u00a3${grouped(whole, '\u00a0')}.${decimals}`,
  ({ sign, whole, decimals }) => `CHF ${sign}${grouped(whole, "'")}.${decimals}`,
  ({ sign, whole, decimals }) => `${sign}\u20b9${indian(whole)}.${decimals}`,
  ({ sign, whole, decimals }) =>
    sign ? `($${grouped(whole, ',')}.${decimals})` : `$${grouped(whole, ',')}.${decimals}`,
  ({ sign, whole, decimals }) => `${sign}${whole}${decimals}e-2`,
  ({ sign, whole, decimals }) => ` ${sign}${whole}.${decimals}% `,
];

describe('plainDecimal', () => {
  it('equals Number() for every plain decimal of up to 15 digits', () => {
    const text = fc
      .tuple(fc.constantFrom('', '+', '-'), fc.stringMatching(/^\d{1,8}$/), fc.stringMatching(/^(\.\d{0,7})?$/))
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (decimal) => {
        expect(plainDecimal(decimal)).to.equal(Number(decimal));
      }),
      { numRuns: 2000 },
    );
  });

  for (const text of ['', '.', '-', '1e5', '1,5', ' 1', '1 ', '1.2.3', '0x1', '1234567890123456', '\uff11'])
    it(`returns NaN for ${JSON.stringify(text)}, which is not a plain decimal`, () =>
      expect(plainDecimal(text)).to.be.NaN);
});
