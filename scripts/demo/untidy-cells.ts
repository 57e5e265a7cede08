import { type CellValue, MODEL_FIELDS, type ModelField } from './lead-record.js';
import type { SeededRandom } from './seeded-random.js';

type Cell = Exclude<CellValue, null>;
/** Ways to write a value untidily; each returns what would stand in the cell. */
type Untidier = (value: Cell, random: SeededRandom) => CellValue;

/**
 * What a tidy cell looks like after people, spreadsheets and imports have been at it. Most ways can still be read
 * ("$1.2m", " united  states "); some cannot ("11-50", "N/A") and count as missing.
 * @param field decides which ways are possible
 * @param value the tidy value
 * @returns a value other than `value`
 */
export function untidyCell({ field, value, random }: UntidyParts): CellValue {
  const ways = [...BLANKS, ...waysFor(field)];
  for (let attempt = 0; attempt < 8; attempt += 1) {
    const untidy = random.weighted(ways).write(value, random);
    if (untidy !== value) return untidy;
  }
  return 'N/A';
}

export interface UntidyParts {
  readonly field: ModelField;
  readonly value: Cell;
  readonly random: SeededRandom;
}

interface Way {
  readonly weight: number;
  readonly write: Untidier;
}

const BLANKS: readonly Way[] = [
  { weight: 0.5, write: () => '' },
  { weight: 0.5, write: () => 'N/A' },
  { weight: 0.3, write: () => 'unknown' },
  { weight: 0.2, write: (_, random) => random.pick(['-', '?', 'null', ' n/a ']) },
];

const MONEY: readonly Way[] = [
  { weight: 2, write: (value) => `$${shortened(Number(value))}` },
  { weight: 1.5, write: (value) => `USD ${grouped(Number(value), ',')}` },
  { weight: 1, write: (value) => grouped(Number(value), ',') },
  { weight: 1, write: (value) => `${grouped(Number(value), '.')},00 €` },
  { weight: 1, write: (_, random) => random.pick(['1-5M', '$10M - $50M', 'not disclosed']) },
];
const COUNT: readonly Way[] = [
  { weight: 1.5, write: (value) => grouped(Number(value), ',') },
  { weight: 1, write: (value) => ` ${value} ` },
  { weight: 1, write: (value) => `${value}.0` },
  { weight: 1.5, write: (value) => countBand(Number(value)) },
];
const DECIMAL: readonly Way[] = [
  { weight: 2, write: (value) => String(value).replace('.', ',') },
  { weight: 1, write: (value) => ` ${value}` },
];
const FRACTION: readonly Way[] = [
  { weight: 2, write: (value) => `${(Number(value) * 100).toFixed(1)}%` },
  { weight: 1, write: (value) => String(value).replace('.', ',') },
];
const CATEGORY: readonly Way[] = [
  { weight: 1.5, write: (value) => String(value).toUpperCase() },
  { weight: 1.5, write: (value) => String(value).toLowerCase() },
  { weight: 1, write: (value) => ` ${String(value).toLowerCase().replaceAll(' ', '  ')} ` },
  { weight: 3, write: (value, random) => random.pick(OTHER_SPELLINGS[String(value)] ?? [String(value)]) },
  { weight: 0.5, write: (value) => misspelt(String(value)) },
];
const LIST: readonly Way[] = [
  { weight: 1, write: (value) => String(value).toLowerCase() },
  { weight: 1, write: (value) => ` ${String(value).replaceAll(';', ' ; ')};` },
  { weight: 1, write: (value) => `${value};Something Else` },
];
const FLAG: readonly Way[] = [
  {
    weight: 3,
    write: (value, random) => random.pick(value ? ['Yes', 'Y', 'TRUE', 'on'] : ['No', 'n', 'FALSE']),
  },
  { weight: 1, write: (value) => (value ? 1 : 0) },
  { weight: 0.3, write: () => 'maybe' },
];
const DATE: readonly Way[] = [
  { weight: 2, write: (value) => spreadsheetDate(String(value)) },
  { weight: 1, write: (value) => Date.parse(String(value)) / 1000 },
  { weight: 1, write: (value) => Date.parse(String(value)) },
  { weight: 1, write: (value) => `${new Date(String(value)).toISOString().slice(0, 19)}+0000` },
  { weight: 0.4, write: () => '0000-00-00' },
  { weight: 0.3, write: (value) => `${Number(String(value).slice(0, 4)) + 1}${String(value).slice(4, 10)}` },
];
const WAYS_BY_KIND = {
  money: MONEY,
  count: COUNT,
  decimal: DECIMAL,
  fraction: FRACTION,
  category: CATEGORY,
  list: LIST,
  flag: FLAG,
  date: DATE,
} as const;

function waysFor(field: ModelField): readonly Way[] {
  return WAYS_BY_KIND[MODEL_FIELDS[field]];
}

/** Other words for the same thing; the last of some is one that the model does not know. */
const OTHER_SPELLINGS: Readonly<Record<string, readonly string[]>> = {
  'United States': ['USA', 'US', 'U.S.', 'United States of America'],
  'United Kingdom': ['UK', 'Great Britain'],
  Germany: ['Deutschland', 'DE'],
  Netherlands: ['The Netherlands', 'Holland'],
  'Paid Search': ['Google Ads', 'SEM', 'PPC'],
  'Organic Search': ['Organic', 'SEO'],
  Website: ['Web', 'Web Form'],
  Referral: ['Referred', 'Word of Mouth'],
  'Trade Show': ['Tradeshow', 'Event'],
  Software: ['SaaS', 'Information Technology'],
  'Financial Services': ['Banking', 'Finance'],
  Healthcare: ['Health Care', 'Medical'],
  'C-Level': ['C-Suite', 'CEO', 'Owner'],
  VP: ['Vice President', 'V.P.'],
  Director: ['Head of', 'Dir.'],
  'Individual Contributor': ['IC', 'Staff'],
  Spreadsheet: ['Excel', 'Spreadsheets'],
  Competitor: ['Other vendor', 'Rival'],
};

/** 1234567 with "," becomes "1,234,567". */
function grouped(value: number, separator: string): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, separator);
}

/** 1234567 becomes "1.2m", 45600 "46k". */
function shortened(value: number): string {
  return value >= 1e6 ? `${Number((value / 1e6).toPrecision(2))}m` : `${Math.round(value / 1000)}k`;
}

/** The band of a form's drop-down that the count falls in: "11-50". */
function countBand(value: number): string {
  const highest = [10, 50, 200, 500, 1000, 5000].find((top) => value <= top);
  const lowest = [...[0, 10, 50, 200, 500, 1000, 5000]].reverse().find((bottom) => value > bottom) ?? 0;
  return highest === undefined ? '5000+' : `${lowest + 1}-${highest}`;
}

/** Its second letter and third change places. */
function misspelt(text: string): string {
  return `${text.charAt(0)}${text.charAt(2)}${text.charAt(1)}${text.slice(3)}`;
}

/** The month first, no leading zeros, as a US spreadsheet writes it: "3/14/2026". */
function spreadsheetDate(isoDate: string): string {
  const [year, month, day] = isoDate.slice(0, 10).split('-').map(Number);
  return `${month}/${day}/${year}`;
}
