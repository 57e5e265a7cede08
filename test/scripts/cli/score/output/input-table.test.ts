import { expect } from 'chai';
import { type InputSums, readInputSummary, withSummary } from '../../../../../scripts/cli/score/output/input-sums.js';
import { inputTable } from '../../../../../scripts/cli/score/output/input-table.js';

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
    expect(withSummary(undefined, second).fields[0]?.examples[0]).to.match(/^x+…$/).and.to.have.length(40);
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
