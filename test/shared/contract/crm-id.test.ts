import { expect } from 'chai';
import { readCrmId } from '../../../shared/contract/crm-id.js';

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
