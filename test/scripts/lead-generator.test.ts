import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { parse } from 'csv-parse/sync';
import { type GeneratedLead, generateLeads } from '../../scripts/leads/lead-generator.js';
import { type LeadRecord, leadsCsv, type ModelField, modelFields } from '../../scripts/leads/lead-record.js';
import {
  countries,
  currentSolutions,
  industries,
  leadSources,
  products,
  seniorities,
} from '../../scripts/leads/lead-vocabulary.js';
import { seededRandom } from '../../scripts/leads/seeded-random.js';
import type { CellValue } from '../../scripts/leads/untidy-cells.js';
import { projectFile } from '../../shared/process/project-root.js';

const now = new Date('2026-11-20T09:30:00Z');
const dayMs = 86_400_000;
const fieldNames = Object.keys(modelFields) as ModelField[];

describe('seededRandom', () => {
  it('returns the same numbers for the same seed and other numbers for the next seed', () => {
    const numbers = (seed: number) => {
      const random = seededRandom(seed);
      return Array.from({ length: 50 }, () => random.uniform());
    };
    expect(numbers(1)).to.deep.equal(numbers(1));
    expect(numbers(1).filter((number) => numbers(2).includes(number))).to.deep.equal([]);
  });

  it('draws with the means of its distributions', () => {
    const random = seededRandom(3);
    const mean = (draw: () => number) => Array.from({ length: 20_000 }, draw).reduce((a, b) => a + b) / 20_000;
    expect(mean(() => random.uniform())).to.be.closeTo(0.5, 0.01);
    expect(mean(() => random.normal())).to.be.closeTo(0, 0.03);
    expect(mean(() => random.normal() ** 2)).to.be.closeTo(1, 0.05);
    expect(mean(() => random.exponential(7))).to.be.closeTo(7, 0.25);
    expect(mean(() => random.poisson(3.5))).to.be.closeTo(3.5, 0.08);
    expect(mean(() => random.integer(1, 6))).to.be.closeTo(3.5, 0.06);
    expect(mean(() => (random.chance(0.2) ? 1 : 0))).to.be.closeTo(0.2, 0.015);
    const coins = [{ weight: 1 }, { weight: 3 }];
    expect(mean(() => random.weighted(coins).weight)).to.be.closeTo(2.5, 0.05);
  });

  it('throws RangeError when the list to pick from is empty', () => {
    expect(() => seededRandom(1).pick([])).to.throw(RangeError);
    expect(() => seededRandom(1).weighted([])).to.throw(RangeError);
  });
});

describe('generateLeads', () => {
  it('returns the same rows for the same seed, count and time, and the first of them for a smaller count', () => {
    const leads = generateLeads({ seed: 7, count: 300, now });
    expect(generateLeads({ seed: 7, count: 300, now })).to.deep.equal(leads);
    expect(generateLeads({ seed: 7, count: 40, now })).to.deep.equal(leads.slice(0, 40));
    expect(generateLeads({ seed: 8, count: 300, now })).to.not.deep.equal(leads);
  });

  it('changes only the dates when the time changes', () => {
    const later = generateLeads({ seed: 7, count: 300, now: new Date(now.getTime() + 10 * dayMs) });
    const withoutDates = ({ record, ...lead }: GeneratedLead) => ({
      ...lead,
      record: { ...record, 'Created Date': null, 'Last Activity Date': null },
    });
    const leads = generateLeads({ seed: 7, count: 300, now });
    expect(later.map(withoutDates)).to.deep.equal(leads.map(withoutDates));
    for (const [index, lead] of leads.entries()) {
      if (lead.untidyFields.includes('Created Date')) continue;
      const moved = Date.parse(String(later[index]?.record['Created Date']));
      expect(moved - Date.parse(String(lead.record['Created Date']))).to.equal(10 * dayMs);
    }
  });

  it('numbers the leads and leaves the outcome out of the record', () => {
    const leads = generateLeads({ seed: 7, count: 120, now });
    expect(leads[41]?.record.crm_id).to.equal('LEAD-00042');
    expect(new Set(leads.map((lead) => lead.record.crm_id)).size).to.equal(120);
    for (const { record } of leads) {
      expect(Object.keys(record).filter((key) => /convert|intent|untidy/i.test(key))).to.deep.equal([]);
    }
  });

  it('converts 12 to 18 % of leads, and at least twice the share of those who asked for a demo', () => {
    for (const seed of [1, 7, 4000]) {
      const leads = generateLeads({ seed, count: 4000, now });
      expect(conversionRate(leads)).to.be.within(0.12, 0.18);
      const asked = leads.filter((lead) => lead.record['Demo Requested'] === true);
      const others = leads.filter((lead) => lead.record['Demo Requested'] === false);
      expect(conversionRate(asked) / conversionRate(others)).to.be.above(2);
    }
  });

  it('writes 5 to 8 % of the cells untidily, and lists exactly these', () => {
    const leads = generateLeads({ seed: 5, count: 4000, now });
    for (const { record, untidyFields } of leads) {
      const untidy = fieldNames.filter((field) => !isTidy(field, record[field] ?? null));
      expect(untidy, JSON.stringify(record)).to.have.members(untidyFields);
    }
    const cells = leads.length * fieldNames.length;
    expect(leads.reduce((sum, lead) => sum + lead.untidyFields.length, 0) / cells).to.be.within(0.05, 0.08);
  });

  it('leaves out the revenue of small companies twice as often as of large ones', () => {
    const leads = generateLeads({ seed: 5, count: 4000, now });
    const missing = (from: number, to: number) => {
      const sized = leads.filter(({ record }) => {
        const employees = record['Number of Employees'];
        return typeof employees === 'number' && employees >= from && employees < to;
      });
      return sized.filter(({ record }) => record['Annual Revenue'] === null).length / sized.length;
    };
    expect(missing(1, 50)).to.be.above(2 * missing(50, Number.POSITIVE_INFINITY));
  });

  it('returns every field that the demo model reads', async () => {
    const manifest = JSON.parse(await readFile(projectFile('scripts/demo/bundle/manifest.json'), 'utf8')) as {
      features: { field: string }[];
    };
    expect(manifest.features.map((feature) => feature.field)).to.have.members(fieldNames);
  });
});

describe('leadsCsv', () => {
  it('writes CSV that csv-parse reads back unchanged', () => {
    const records = generateLeads({ seed: 9, count: 2000, now }).map((lead) => lead.record);
    const rows = parse(leadsCsv(records), { columns: true }) as Record<string, string>[];
    expect(rows).to.deep.equal(records.map(asText));
  });

  it('keeps commas, quotes, line breaks and outer spaces, and writes absent cells as empty', () => {
    const records: LeadRecord[] = [
      { name: 'Kestrel, "the" Ltd\r\nsecond line', padded: '  x ' },
      { padded: '', flag: false, number: -0.5 },
    ];
    const csv = leadsCsv(records);
    expect(csv).to.equal(
      'name,padded,flag,number\r\n"Kestrel, ""the"" Ltd\r\nsecond line","  x ",,\r\n,,false,-0.5\r\n',
    );
    expect(parse(csv, { columns: true })).to.deep.equal([
      { name: 'Kestrel, "the" Ltd\r\nsecond line', padded: '  x ', flag: '', number: '' },
      { name: '', padded: '', flag: 'false', number: '-0.5' },
    ]);
  });
});

function conversionRate(leads: readonly GeneratedLead[]): number {
  return leads.filter((lead) => lead.converted === 1).length / leads.length;
}

function asText(record: Readonly<Record<string, CellValue>>): Record<string, string> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, String(value ?? '')]));
}

const vocabulary: Readonly<Partial<Record<ModelField, readonly { value: string }[]>>> = {
  'Lead Source': leadSources,
  Industry: industries,
  Country: countries,
  Seniority: seniorities,
  'Current Solution': currentSolutions,
  'Products of Interest': products,
};

/** Whether a cell has the right JSON type, words of the vocabulary, or a past date. Independent of the generator. */
function isTidy(field: ModelField, value: CellValue): boolean {
  if (value === null) return true;
  const words = vocabulary[field]?.map((choice) => choice.value);
  if (words) return typeof value === 'string' && value.split(';').every((part) => words.includes(part));
  if (modelFields[field] === 'flag') return typeof value === 'boolean';
  if (modelFields[field] !== 'date') return typeof value === 'number' && value >= 0;
  return /^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ)?$/.test(String(value)) && Date.parse(String(value)) <= now.getTime();
}
