import { expect } from 'chai';
import { driverMembers, topReasons } from '../../../api/call/score-reply.js';

const fields: [string, string][] = [
  ['lead_source', 'Lead Source'],
  ['annual_revenue', 'Annual revenue'],
  ['note', 'A "note"'],
];

/** The members of one row, parsed from JSON. */
function membersOf(...drivers: (number | string)[]): Record<string, unknown> {
  const members = driverMembers({ method: 'tree', fields, drivers: [drivers] })(0);
  return JSON.parse(`{"score":50${members}}`);
}

describe('driverMembers', () => {
  it('writes drivers with text members, and reasons in words', () => {
    expect(membersOf(0, 4071, 'Google', 1, -1354, '')).to.deep.equal({
      score: 50,
      drivers: [
        {
          field: 'lead_source',
          value: 'Google',
          contribution: '0.4071',
          direction: 'positive',
          label: 'Lead Source',
        },
        {
          field: 'annual_revenue',
          value: '',
          contribution: '-0.1354',
          direction: 'negative',
          label: 'Annual revenue',
        },
      ],
      top_reason_1: 'Lead Source is Google (raises the score)',
      top_reason_2: 'Annual revenue is missing (lowers the score)',
      top_reason_3: null,
    });
  });

  it('writes an empty list and null reasons when no field moved the score', () => {
    expect(membersOf()).to.deep.equal({
      score: 50,
      drivers: [],
      top_reason_1: null,
      top_reason_2: null,
      top_reason_3: null,
    });
  });

  it('says of a value that the model has not seen that it has not', () => {
    const explained = {
      method: 'tree',
      fields,
      drivers: [
        [0, 9, 'Google'],
        [1, 5, '7', 0, -3, 'SaaS'],
      ],
    } as const;
    expect(topReasons({ ...explained, unseen: [[1, 0]] }, 0)[0]).to.equal('Lead Source is Google (raises the score)');
    expect(topReasons({ ...explained, unseen: [[1, 0]] }, 1)).to.deep.equal([
      'Annual revenue is 7 (raises the score)',
      'Lead Source is SaaS, which the model has not seen (lowers the score)',
      null,
    ]);
  });

  it('writes contributions with four decimals', () => {
    const contributions = (membersOf(0, 1, 'a', 1, -20_000, 'b', 2, 123_456_789, 'c').drivers as object[]).map(
      (driver) => 'contribution' in driver && driver.contribution,
    );
    expect(contributions).to.deep.equal(['0.0001', '-2.0000', '12345.6789']);
  });

  it('names at most three reasons, the strongest', () => {
    const { top_reason_1, top_reason_2, top_reason_3, ...rest } = membersOf(
      0,
      4,
      'a',
      1,
      -3,
      'b',
      2,
      2,
      'c',
      0,
      1,
      'd',
    );
    expect([top_reason_1, top_reason_2, top_reason_3]).to.deep.equal([
      'Lead Source is a (raises the score)',
      'Annual revenue is b (lowers the score)',
      'A "note" is c (raises the score)',
    ]);
    expect(rest).to.have.all.keys('score', 'drivers');
    expect(rest.drivers).to.have.length(4);
  });

  it('never claims a cause', () => {
    const text = JSON.stringify(membersOf(0, 4, 'a', 1, -3, '', 2, 2, 'c'));
    expect(text).to.not.match(/because|cause|due to|leads? to|result|make|drive[ns]? by|why/i);
  });

  it('keeps any value through JSON, and shortens it to one line in a reason', () => {
    const value = ` a "quoted"\n\tline\u0000 ${'x'.repeat(200)}`;
    const members = membersOf(2, 5000, value);
    expect((members.drivers as { value: string }[])[0]?.value).to.equal(value);
    const oneLine = `a "quoted" line\u0000 ${'x'.repeat(200)}`.slice(0, 99);
    expect(members.top_reason_1).to.equal(`A "note" is ${oneLine}… (raises the score)`);
  });

  it('replaces a lone surrogate, which strict parsers refuse', () => {
    const { drivers, top_reason_1 } = membersOf(0, 5000, '\ud800x 🦊');
    expect((drivers as { value: string }[])[0]?.value).to.equal('\ufffdx 🦊');
    expect(top_reason_1).to.equal('Lead Source is \ufffdx 🦊 (raises the score)');
  });

  it('writes nothing when the call does not ask to explain', () => {
    expect(driverMembers(undefined)(0)).to.equal('');
  });
});
