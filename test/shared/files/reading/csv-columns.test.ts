import { expect } from 'chai';
import { noSuchColumn } from '../../../../shared/files/reading/csv-columns.js';

const messageOf = (names: readonly string[], delimiter: string): string =>
  noSuchColumn('column "Lead ID"', { names, line: 1, delimiter }).message;

describe('the fault of a CSV without a column', () => {
  it('names the delimiter when the names seem to be several', () => {
    expect(messageOf(['Id^Size^Source'], ',')).to.equal(
      'The header (line 1) has no column "Lead ID". Its columns: "Id^Size^Source". The columns were separated at commas. ' +
        'If "^" separates them, begin the file with the line sep=^',
    );
    expect(messageOf(['Id;Revenue', ' EUR'], ',')).to.include('the line sep=;');
    expect(messageOf(['Id'], '\t')).to.match(/separated at tabs$/);
  });

  it('does not name it when a name has another one of its own', () => {
    expect(messageOf(['Id', 'Revenue, EUR', 'Source'], ';')).to.equal(
      'The header (line 1) has no column "Lead ID". Its columns: "Id", "Revenue, EUR", "Source"',
    );
  });
});
