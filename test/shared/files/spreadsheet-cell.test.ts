import { expect } from 'chai';
import fc from 'fast-check';
import { spreadsheetCell, valueOfCell, writtenText } from '../../../shared/files/spreadsheet-cell.js';

describe('a CSV cell for a spreadsheet', () => {
  it('begins with an apostrophe before a character that begins a formula, and before an apostrophe', () => {
    const formulas = ['=1+1', '+1+1', '-1+1', '@SUM(1)', '\t=1', '\r=1', '\n=1', '＝1', '-', '+49 151'];
    for (const text of [...formulas, "'=1", "'quoted'", "'00123"])
      expect(spreadsheetCell(text), text).to.equal(`'${text}`);
  });

  it('stays unchanged when it is a number or any other text', () => {
    for (const text of ['', '-12.5', '+7', '-1e-7', '0.5', 'a=1', "O'Hara", ' =1', 'L-1'])
      expect(spreadsheetCell(text), text).to.equal(text);
  });

  it('keeps quotes that it begins with behind white space of ASCII, and loses those behind an invisible character', () => {
    for (const text of [' "a"', '\n"a"', ' \t"a,b"', '"a"']) expect(valueOfCell(text), text).to.equal(text);
    for (const text of ['\u00a0"a"', ' \u200b"a"']) expect(valueOfCell(text), text).to.equal('a');
  });

  /** Cells with an apostrophe, and their values. */
  const apostrophes: readonly (readonly [cell: string, value: string])[] = [
    ["'00123", '00123'],
    ["'Referral", 'Referral'],
    ["'A", 'A'],
    ["'S-17", 'S-17'],
    ["'-5", '-5'],
    ["'=1", '=1'],
    ["'", ''],
    ["''00123", "'00123"],
    ["'Referral'", 'Referral'],
    ["'Rock 'n' Roll'", "Rock 'n' Roll'"],
    // Apostrophes of words, and characters that no spreadsheet writes.
    ...["'s-Hertogenbosch", "'t Hof", "'S-GRAVENHAGE", "O'Hara", "Bosses'", " '00123"].map(
      (cell) => [cell, cell] as const,
    ),
    ...['’00123', '‘00123', '＇00123', '`00123', '´00123', 'ʼ00123'].map((cell) => [cell, cell] as const),
  ];
  for (const [cell, value] of apostrophes)
    it(`has the value ${JSON.stringify(value)}: ${JSON.stringify(cell)}`, () => {
      expect(valueOfCell(cell)).to.equal(value);
    });

  it('gives back any text, and never begins a formula', () => {
    const start = fc.constantFrom('', "'", '=', '-', '+', '@', '\t', '1', "''");
    const texts = fc.tuple(start, start, fc.string()).map((parts) => parts.join(''));
    fc.assert(
      fc.property(texts, (text) => {
        const cell = spreadsheetCell(text);
        expect(valueOfCell(cell)).to.equal(text);
        expect(writtenText(cell)).to.equal(text);
        expect(Number.isNaN(Number(cell)) && /^[=+\-@\t\r\n]/.test(cell), cell).to.equal(false);
      }),
    );
  });
});
