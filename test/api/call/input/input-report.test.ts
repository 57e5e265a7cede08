import { expect } from 'chai';
import { inputReport } from '../../../../api/call/input/input-report.js';
import type { Feature } from '../../../../shared/bundle/manifest/manifest.js';
import { compileKnownFields } from '../../../../shared/messages/field-slots.js';
import {
  type FieldReadings,
  type ReadingKind,
  readingKinds,
  type ScoredPart,
} from '../../../../shared/messages/score-job.js';

const kindOf = (kind: ReadingKind): number => readingKinds.indexOf(kind);
const [missing, unread, unseen, filled] = [kindOf('missing'), kindOf('unread'), kindOf('unseen'), kindOf('filled')];
const ambiguous = kindOf('ambiguous');

const feature = (field: string, type: Feature['type'], further: object = {}): Feature =>
  ({ field, label: field, type, columns: [0], ...further }) as Feature;
const manifest = {
  features: [
    feature('Lead Source', 'category'),
    feature('Employees', 'number'),
    feature('Created', 'date', { date_order: 'mdy' }),
  ],
  recency: { field: 'Last Touch', max_age_days: 9 },
};
let models = 0;

type Fields = Readonly<Record<string, unknown>>;

async function reportOf(
  records: readonly (Fields & { readonly crm_id?: string })[],
  readings: readonly FieldReadings[],
  as: 'summary' | 'records' | 'nothing' = 'records',
  of: Pick<typeof manifest, 'features'> = manifest,
) {
  const knownFields = compileKnownFields(of);
  models += 1;
  const names = knownFields.sentNames();
  for (const record of records) for (const name in record) names.targetsOf(name);
  const call = {
    records: records.map((fields) => ({ fields, crmId: fields.crm_id ?? null })),
    ...(as !== 'nothing' && { inputReport: as }),
  };
  const parts = readings.map((each) => ({ readings: each }) as ScoredPart);
  const model = { id: `mdl_${models}`, version: '1', knownFields };
  const report = inputReport(call, { parts, input: { names, model } });
  const rows = report?.ofRecord && records.map((_, index) => JSON.parse(report.ofRecord?.(index) ?? ''));
  return { report, summary: report && JSON.parse(report.summary), rows };
}

describe('inputReport', () => {
  it('is undefined for a call that asks for none', async () => {
    expect((await reportOf([{}], [{ counts: [], values: [] }], 'nothing')).report).to.equal(undefined);
  });

  it('sums up the fields of all parts, in the order of the model', async () => {
    const parts = [
      { counts: [0, unseen, 1, 1, missing, 1], values: [[0, unseen, 'SaaS', 1]] },
      {
        counts: [0, unseen, 3, 1, filled, 1, 2, unread, 1, 2, ambiguous, 2],
        values: [
          [0, unseen, 'Fax', 2],
          [0, unseen, 'SaaS', 1],
          [2, unread, '13/31/2026', 1],
        ],
      },
    ] as const;
    const records = Array.from({ length: 4 }, () => ({ 'Lead Source': 'SaaS' }));
    const { summary, report } = await reportOf(records, parts, 'summary');
    expect(summary).to.deep.equal({
      records: 4,
      fields: [
        { field: 'Lead Source', sent: 4, unread: 0, unseen: 4, examples: ['SaaS', 'Fax'] },
        { field: 'Employees', sent: 2, unread: 0, unseen: 0, examples: [] },
        {
          field: 'Created',
          sent: 4,
          unread: 1,
          unseen: 0,
          ambiguous: 2,
          date_order: 'mdy',
          examples: ['13/31/2026'],
          reason: 'expected a date (the model reads year-month-day and month/day/year)',
        },
      ],
      ignored: [],
    });
    expect(report).to.not.have.property('ofRecord');
  });

  it('reports each record by its own readings', async () => {
    const readings = {
      counts: [0, missing, 1, 1, unread, 1, 2, filled, 1, 0, unseen, 1],
      values: [],
      records: [
        [0, missing, '', 1, unread, 'lots', 2, filled, ''],
        [0, unseen, 'Fax', 2, ambiguous, '03/04/2026'],
      ],
    };
    const { rows } = await reportOf(
      [
        { 'Lead Sorce': 'Web', Employees: 'lots' },
        { 'Lead Source': 'Fax', crm_id: '7', Id: 7 },
      ],
      [readings],
    );
    expect(rows).to.deep.equal([
      {
        used: 1,
        missing: ['Lead Source'],
        filled: ['Created'],
        unread: [{ field: 'Employees', value: 'lots', reason: 'expected a number' }],
        unseen: [],
        ambiguous: [],
        ignored: ['Lead Sorce'],
        did_you_mean: { 'Lead Sorce': 'Lead Source' },
      },
      {
        used: 3,
        missing: [],
        filled: [],
        unread: [],
        unseen: [{ field: 'Lead Source', value: 'Fax' }],
        ambiguous: [{ field: 'Created', value: '03/04/2026', date_order: 'mdy' }],
        ignored: [],
        did_you_mean: {},
      },
    ]);
  });

  it('names ignored fields with their records, those that look misspelt first', async () => {
    const records = [
      { A: 1, B: 2, 'Lead Sorce': 'Web' },
      { B: '', 'Last Touch': 1 },
      { B: null, crm_id: 'x' },
    ];
    const { summary } = await reportOf(records, [{ counts: [0, missing, 3], values: [] }], 'summary');
    expect(summary.ignored).to.deep.equal([
      { name: 'Lead Sorce', records: 1, did_you_mean: 'Lead Source' },
      { name: 'B', records: 3 },
      { name: 'A', records: 1 },
    ]);
  });

  it('suggests no field that the record, or another record of the call, sent with a value', async () => {
    const records = [{ 'Lead Sorce': 'Web' }, { 'Lead Source': 'Web', 'Lead Sorce': 'Web' }];
    const readings = { counts: [0, missing, 1], values: [], records: [[0, missing, ''], []] };
    const { summary, rows } = await reportOf(records, [readings]);
    expect(summary.ignored).to.deep.equal([{ name: 'Lead Sorce', records: 2 }]);
    expect(rows?.map(({ did_you_mean }) => did_you_mean)).to.deep.equal([{ 'Lead Sorce': 'Lead Source' }, {}]);
  });

  it('cuts lists to 20 entries and names to 64 characters, and says how many entries are left out', async () => {
    const features = Array.from({ length: 30 }, (_, index) => feature(`f${index}`, 'number'));
    const others = Object.fromEntries(
      Array.from({ length: 2_000 }, (_, index) => [`other ${index} ${'x'.repeat(80)}\ud83d`, 1]),
    );
    const absent = features.flatMap((_, slot) => [slot, missing, '']);
    const counts = features.flatMap((_, slot) => [slot, missing, 1]);
    const { summary, rows } = await reportOf([others], [{ counts, values: [], records: [absent] }], 'records', {
      features,
    });
    expect(summary.fields).to.have.length(30);
    expect(summary.ignored).to.have.length(20);
    expect(summary.ignored_more).to.equal(1_980);
    for (const { name } of summary.ignored)
      expect(name)
        .to.match(/^other \d+ x+…$/)
        .and.to.have.length(64);
    expect(rows?.[0]).to.include({ used: 0 });
    expect(rows?.[0].missing).to.have.length(20);
    expect(rows?.[0].ignored).to.have.length(20);
    expect(rows?.[0].more).to.deep.equal({ missing: 10, ignored: 1_980 });
  });

  it('takes the best reading of a field that features read under different aliases', async () => {
    const features = [feature('Size', 'number', { aliases: ['a'] }), feature('Size', 'category', { aliases: ['b'] })];
    const readings = {
      counts: [0, unread, 1, 0, missing, 1, 1, missing, 1],
      values: [[0, unread, 'lots', 1]],
      records: [
        [0, unread, 'lots'],
        [0, missing, '', 1, missing, ''],
      ],
    } as const;
    const { summary, rows } = await reportOf([{ Size: 'lots' }, {}], [readings], 'records', { features });
    expect(summary.fields).to.deep.equal([{ field: 'Size', sent: 1, unread: 0, unseen: 0, examples: ['lots'] }]);
    expect(rows?.map(({ used, missing: absent, unread: bad }) => ({ used, absent, bad }))).to.deep.equal([
      { used: 1, absent: [], bad: [] },
      { used: 0, absent: ['Size'], bad: [] },
    ]);
  });

  it('writes names such as __proto__ as they are', async () => {
    const record = JSON.parse('{"__proto__":1,"constructor":2}');
    const { rows } = await reportOf([record], [{ counts: [], values: [], records: [[]] }]);
    expect(rows?.[0].ignored).to.deep.equal(['__proto__', 'constructor']);
  });
});
