import { expect } from 'chai';
import fc from 'fast-check';
import { readCrmId, salesforceIdOf, storedCrmId, writtenForms } from '../../../shared/contract/crm-id.js';

const problemOf = (text: string): string => {
  const read = readCrmId(text);
  return 'id' in read ? `the id ${read.id}` : read.problem;
};

describe('readCrmId', () => {
  it('returns an id as it is written', () => {
    for (const id of ['00Q1', ' L-1 ', '007', '-7', 'N/A-1', '12E45', '5E+', 'Null, Anna', 'n', '90071992547409931'])
      expect(readCrmId(id)).to.deep.equal({ id });
  });

  it('names what programs write for a missing value', () => {
    for (const text of [
      '#N/A',
      'NULL',
      'n/a',
      '-',
      'undefined',
      'NaN',
      'none',
      '(blank)',
      ' ',
      '#REF!',
      '[object Object]',
    ])
      expect(problemOf(text), text).to.equal('placeholder');
    expect(problemOf('')).to.equal('absent');
  });

  it('names a number that a spreadsheet has shortened', () => {
    for (const text of ['1.20214E+17', '1,20214e+17', '1E+20', '1.20214E 17'])
      expect(problemOf(text), text).to.equal('scientific');
  });

  it('names a text that no id can be', () => {
    expect(problemOf('x'.repeat(256))).to.equal('too_long');
    for (const text of ['a\0', '\ud800']) expect(problemOf(text)).to.equal('characters');
  });
});

describe('storedCrmId', () => {
  // Computed by Salesforce's rule with another program.
  const pairs = [
    ['001A0000006Vm9u', '001A0000006Vm9uIAC'],
    ['00Q5g00000ABcDe', '00Q5g00000ABcDeEAL'],
    ['a0B000000000001', 'a0B000000000001EAA'],
  ] as const;

  it('finds the stored form by 16 to 18 characters of the longer one, and by all of it in any case', () => {
    for (const [short, long] of pairs) {
      for (const length of [16, 17, 18]) expect(salesforceIdOf(long.slice(0, length))).to.equal(short);
      for (const text of [long.toLowerCase(), long.toUpperCase()]) expect(salesforceIdOf(text), text).to.equal(short);
      for (const text of [short, `${long}A`, `${short}#`, `${short}6`, `${short}${long.slice(15, 17)}9`, 'L-1'])
        expect(salesforceIdOf(text), text).to.equal(undefined);
    }
  });

  it("stores both forms of Salesforce's ids as the one with 15 characters", () => {
    for (const [short, long] of pairs) {
      expect(storedCrmId(long)).to.equal(short);
      expect(storedCrmId(short)).to.equal(short);
      for (const form of [short, long]) expect(writtenForms(form)).to.deep.equal([short, long]);
    }
  });

  it('leaves every other id as it is', () => {
    for (const [short, long] of pairs)
      for (const id of [long.toLowerCase(), long.toUpperCase(), `${short}AAB`, `${long} `, long.slice(1), `${long}A`])
        expect(storedCrmId(id)).to.equal(id);
    for (const id of ['LEAD-00042', '', '123456789012345678', 'ä'.repeat(18)]) {
      expect(storedCrmId(id)).to.equal(id);
      expect(writtenForms(id)).to.deep.equal([id]);
    }
  });

  it('never stores two ids as one, unless they are the two forms of one', () => {
    const character = fc.constantFrom(...'0Aa5Zz');
    const short = fc.string({ unit: character, minLength: 15, maxLength: 15 });
    fc.assert(
      fc.property(short, fc.string({ unit: fc.constantFrom(...'AZ05ab'), minLength: 3, maxLength: 3 }), (id, tail) => {
        const [, long] = writtenForms(id);
        expect(storedCrmId(long ?? '')).to.equal(id);
        expect(storedCrmId(id + tail)).to.equal(id + tail === long ? id : id + tail);
      }),
    );
  });
});
