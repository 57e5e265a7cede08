import type { SeededRandom } from './seeded-random.js';

/** A cell of a CRM record. Null: the CRM holds nothing there. */
export type CellValue = string | number | boolean | null;
type Cell = Exclude<CellValue, null>;

/** The kind of a tidy cell: decides in which ways it can be untidy. */
export type CellKind = keyof typeof waysByKind;

interface Way {
  readonly weight: number;
  readonly write: (value: Cell, random: SeededRandom) => CellValue;
}

/**
 * Writes a tidy value as people, spreadsheets and imports leave it. Most forms are still readable ("$1.2m", " united
 * states "). Some are not ("11-50", "N/A") and count as missing.
 * @returns a value other than `value`
 */
export function untidyCell(kind: CellKind, value: Cell, random: SeededRandom): CellValue {
  const ways = [...blanks, ...waysByKind[kind]];
  for (let attempt = 0; attempt < 8; attempt += 1) {
    const untidy = random.weighted(ways).write(value, random);
    if (untidy !== value) return untidy;
  }
  return 'N/A';
}

const blanks: readonly Way[] = [
  { weight: 0.5, write: () => '' },
  { weight: 0.5, write: () => 'N/A' },
  { weight: 0.3, write: () => 'unknown' },
  { weight: 0.2, write: (_, random) => random.pick(['-', '?', 'null', ' n/a ']) },
];

const waysByKind = {
  money: [
    { weight: 2, write: (value) => `$${shortened(Number(value))}` },
    { weight: 1.5, write: (value) => `USD ${grouped(value, ',')}` },
    { weight: 1, write: (value) => grouped(value, ',') },
    { weight: 1, write: (value) => `${grouped(value, '.')},00 €` },
    { weight: 1, write: (_, random) => random.pick(['1-5M', '$10M - $50M', 'not disclosed']) },
  ],
  count: [
    { weight: 1.5, write: (value) => grouped(value, ',') },
    { weight: 1, write: (value) => ` ${value} ` },
    { weight: 1, write: (value) => `${value}.0` },
    { weight: 1.5, write: (value) => countBand(Number(value)) },
  ],
  decimal: [
    { weight: 2, write: (value) => String(value).replace('.', ',') },
    { weight: 1, write: (value) => ` ${value}` },
  ],
  fraction: [
    { weight: 2, write: (value) => `${(Number(value) * 100).toFixed(1)}%` },
    { weight: 1, write: (value) => String(value).replace('.', ',') },
  ],
  category: [
    { weight: 1.5, write: (value) => String(value).toUpperCase() },
    { weight: 1.5, write: (value) => String(value).toLowerCase() },
    { weight: 1, write: (value) => ` ${String(value).toLowerCase().replaceAll(' ', '  ')} ` },
    { weight: 3, write: (value, random) => random.pick(otherSpellings[String(value)] ?? [String(value)]) },
    { weight: 0.5, write: (value) => String(value).replace(/^(.)(.)(.)/, '$1$3$2') }, // misspelt
  ],
  list: [
    { weight: 1, write: (value) => String(value).toLowerCase() },
    { weight: 1, write: (value) => ` ${String(value).replaceAll(';', ' ; ')};` },
    { weight: 1, write: (value) => `${value};Something Else` },
  ],
  flag: [
    {
      weight: 3,
      write: (value, random) => random.pick(value ? ['Yes', 'Y', 'TRUE', 'on'] : ['No', 'n', 'FALSE']),
    },
    { weight: 1, write: (value) => (value ? 1 : 0) },
    { weight: 0.3, write: () => 'maybe' },
  ],
  date: [
    { weight: 2, write: (value) => spreadsheetDate(String(value)) },
    { weight: 1, write: (value) => Date.parse(String(value)) / 1000 },
    { weight: 1, write: (value) => Date.parse(String(value)) },
    { weight: 1, write: (value) => `${new Date(String(value)).toISOString().slice(0, 19)}+0000` },
    { weight: 0.4, write: () => '0000-00-00' },
    {
      weight: 0.3,
      write: (value) => `${Number(String(value).slice(0, 4)) + 1}${String(value).slice(4, 10)}`,
    },
  ],
} as const satisfies Record<string, readonly Way[]>;

/** Other words for the same thing. The model does not know all of them. */
const otherSpellings: Readonly<Record<string, readonly string[]>> = {
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
const grouped = (value: Cell, separator: string): string => String(value).replace(/\B(?=(\d{3})+$)/g, separator);

/** 1234567 becomes "1.2m", 45600 becomes "46k". */
const shortened = (value: number): string =>
  value >= 1e6 ? `${Number((value / 1e6).toPrecision(2))}m` : `${Math.round(value / 1000)}k`;

/** The band in a form's drop-down that a count falls into, such as "11-50". */
function countBand(value: number): string {
  const tops = [0, 10, 50, 200, 500, 1000, 5000];
  const band = tops.findIndex((top) => value <= top);
  return band === -1 ? '5000+' : `${(tops[band - 1] ?? 0) + 1}-${tops[Math.max(1, band)]}`;
}

/** "2026-03-14" becomes "3/14/2026", as a US spreadsheet writes it. */
function spreadsheetDate(isoDate: string): string {
  const [year, month, day] = isoDate.slice(0, 10).split('-').map(Number);
  return `${month}/${day}/${year}`;
}
