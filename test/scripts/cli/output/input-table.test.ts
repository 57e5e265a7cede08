import { expect } from 'chai';
import { type InputSums, readInputSummary, withSummary } from '../../../../scripts/cli/output/input-summary.js';
import { inputTable } from '../../../../scripts/cli/output/input-table.js';

const field = (name: string, further: object = {}) => ({
  ...{ field: name, sent: 10, unread: 0, unseen: 0, examples: [] },
  ...further,
});
const summary = (fields: InputSums['fields'], ignored: InputSums['ignored'] = []): InputSums => ({
  records: 10,
  fields,
  ignored,
});

describe('withSummary', () => {
  it('adds the counts of fields and names, and keeps few and short examples', () => {
    const first = summary(
      [field('Size', { unread: 2, examples: ['a', 'b', 'c'], reason: 'expected a number' })],
      [{ name: 'Sise', records: 3, did_you_mean: 'Size' }],
    );
    const second = summary(
      [field('Size', { sent: 4, unseen: 1, examples: ['x'.repeat(64)] })],
      [
        { name: 'Sise', records: 1 },
        { name: 'Other', records: 10 },
      ],
    );
    expect(withSummary(withSummary(undefined, first), second)).to.deep.equal({
      records: 20,
      fields: [{ field: 'Size', sent: 14, unread: 2, unseen: 1, examples: ['a', 'b'], reason: 'expected a number' }],
      ignored: [
        { name: 'Sise', records: 4, did_you_mean: 'Size' },
        { name: 'Other', records: 10 },
      ],
    });
    expect(withSummary(undefined, second).fields[0]?.examples?.[0]).to.match(/^x+…$/).and.to.have.length(40);
  });

  it('adds ambiguous dates, also to a sum of a run that did not count them', () => {
    const date = (further: object) => summary([field('When', { date_order: 'mdy', ...further })]);
    const before = summary([field('When')]);
    const sums = withSummary(withSummary(before, date({ ambiguous: 3 })), date({ ambiguous: 4 }));
    expect(sums.fields).to.deep.equal([field('When', { sent: 30, ambiguous: 7, date_order: 'mdy' })]);
    expect(withSummary(undefined, before).fields[0]).to.not.have.any.keys('ambiguous', 'date_order');
  });

  it('keeps at most fifty names', () => {
    const names = Array.from({ length: 60 }, (_, index) => ({ name: `n${index}`, records: 1 }));
    const sums = withSummary(withSummary(undefined, summary([], names)), summary([], names));
    expect(sums.ignored).to.have.length(50);
    expect(sums.ignored[0]).to.deep.equal({ name: 'n0', records: 2 });
  });
});

describe('readInputSummary', () => {
  it('returns nothing for the reply of an older service, or of another form', () => {
    const input_summary = summary([field('Size')]);
    expect(readInputSummary({ input_summary })).to.deep.equal(input_summary);
    for (const other of [{}, { input_summary: 3 }, { input_summary: { ...input_summary, fields: [{}] } }, null])
      expect(readInputSummary(other)).to.equal(undefined);
  });
});

describe('inputTable', () => {
  it('shows fields with unread and unseen values, the most first, and misspelt names', () => {
    const sums = summary(
      [
        field('Known'),
        field('Size', { sent: 9, unread: 2, examples: ['lots'], reason: 'expected a number' }),
        field('Industry', { unseen: 1_000, examples: ['Mining\u001b[31m'] }),
        field('Source', { sent: 0 }),
      ],
      [
        { name: 'Sorce', records: 9, did_you_mean: 'Source' },
        { name: 'Sise', records: 1, did_you_mean: 'Size' },
        { name: 'Other', records: 9 },
      ],
    );
    expect(inputTable(sums, { width: 90 }).split('\n')).to.deep.equal([
      'Values and names that the model does not know',
      'Field      Sent  Unread  Unseen  Example      Unread because',
      '────────  ─────  ──────  ──────  ───────────  ─────────────────',
      'Industry  100 %           1,000  Mining [31m',
      'Size       90 %       2          lots         expected a number',
      'Sorce: did you mean Source?',
    ]);
  });

  it('counts dates with two readings if a date does not fit the order, or all fit both', () => {
    const date = (name: string, further: object) => field(name, { sent: 6, date_order: 'mdy', ...further });
    const sums = summary([
      date('Created', { unread: 2, ambiguous: 4, examples: ['31/12/2025'], reason: 'expected a date' }),
      date('Closed', { ambiguous: 6, date_order: 'dmy' }),
      date('Confirmed by one date', { ambiguous: 5 }),
      date('Without such a date', { unread: 2, examples: ['soon'], reason: 'expected a date', ambiguous: 0 }),
    ]);
    expect(inputTable(sums, { width: 90 }).split('\n\n')[1]?.split('\n')).to.deep.equal([
      'Dates that can be read in two ways',
      'Created: the model reads month/day/year: 2 of 6 unread, 4 ambiguous',
      'Closed: the model reads day/month/year: 0 of 6 unread, 6 ambiguous',
      'If the file has another order, write these dates as year-month-day.',
    ]);
    const alone = inputTable(summary([date('Closed', { ambiguous: 6 })]), { width: 90 });
    expect(alone).to.match(/^Dates that can be read in two ways\nClosed: /);
  });

  it('is empty without anything to tell', () => {
    expect(inputTable(summary([field('Known')], [{ name: 'Other', records: 1 }]), { width: 80 })).to.equal('');
  });

  it('shows at most twenty fields', () => {
    const fields = Array.from({ length: 23 }, (_, index) => field(`f${index}`, { unseen: 1, examples: ['x'] }));
    const lines = inputTable(summary(fields), { width: 80 }).split('\n');
    expect(lines).to.have.length(24);
    expect(lines.at(-1)).to.equal('and 3 more fields, see --json');
  });

  it('shows a small share as more than none, and a large one as less than all', () => {
    const sums = {
      ...summary([field('a', { sent: 1, unseen: 1 }), field('b', { sent: 9_999, unseen: 1 })]),
      records: 10_000,
    };
    expect(inputTable(sums, { width: 80 }))
      .to.match(/a +1 %/)
      .and.match(/b +99 %/);
  });
});
