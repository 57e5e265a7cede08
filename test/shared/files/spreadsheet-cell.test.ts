import { expect } from 'chai';
import fc from 'fast-check';
import { spreadsheetCell, textOfCell, valueOfCell } from '../../../shared/files/spreadsheet-cell.js';

describe('a CSV cell for a spreadsheet', () => {
  it('begins with an apostrophe instead of a character that begins a formula', () => {
    for (const text of ['=1+1', '+1+1', '-1+1', '@SUM(1)', '\t=1', '\r=1', '\n=1', '＝1', "'=1", '-', '+49 151'])
      expect(spreadsheetCell(text), text).to.equal(`'${text}`);
  });

  it('stays unchanged when it is a number or any other text', () => {
    for (const text of ['', '-12.5', '+7', '-1e-7', '0.5', 'a=1', "O'Hara", "'quoted'", ' =1', 'L-1'])
      expect(spreadsheetCell(text), text).to.equal(text);
  });

  it('keeps quotes that it begins with behind white space of ASCII, and loses those behind an invisible character', () => {
    for (const text of [' "a"', '\n"a"', ' \t"a,b"', '"a"']) expect(valueOfCell(text), text).to.equal(text);
    for (const text of ['\u00a0"a"', ' \u200b"a"']) expect(valueOfCell(text), text).to.equal('a');
  });

  it('gives back any text, and never begins a formula', () => {
    const start = fc.constantFrom('', "'", '=', '-', '+', '@', '\t', '1', "''");
    const texts = fc.tuple(start, start, fc.string()).map((parts) => parts.join(''));
    fc.assert(
      fc.property(texts, (text) => {
        const cell = spreadsheetCell(text);
        expect(textOfCell(cell)).to.equal(text);
        expect(Number.isNaN(Number(cell)) && /^[=+\-@\t\r\n]/.test(cell), cell).to.equal(false);
      }),
    );
  });
});
