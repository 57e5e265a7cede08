import { expect } from 'chai';
import { oddRowProblem, repeatsHeader } from '../../../../shared/files/rows/odd-rows.js';
import { isLabel, isNumeric, isTotal } from '../../../../shared/files/rows/total-words.js';

describe('a row of totals', () => {
  const totals = [
    ...['Total', 'TOTAL:', ' Grand Total ', 'Sub-total', 'Grand Totals (2 records)', 'Total 12', 'Record Count: 2'],
    ...['Summe', 'Gesamtergebnis', 'Zwischensumme:', 'Anzahl = 2', 'Total général', 'Sous-total', 'Suma total'],
    ...['Totale complessivo', 'Eindtotaal', 'I alt', 'Yhteensä', 'Razem', 'Celkem', 'Összesen', 'Genel Toplam'],
    ...['Итого', 'Всего: 12', '合計', '总计', '小計', '총합계', 'Tổng cộng', 'Jumlah', 'Σύνολο', 'المجموع', 'סה"כ'],
  ];
  for (const text of totals) it(`begins with a word such as ${text}`, () => expect(isTotal(text)).to.equal(true));

  for (const text of ['Total Energies', 'Totalview', '00Q1', 'total-1', 'Sumner', 'Counting House', '', 'Acme Total'])
    it(`does not begin with ${JSON.stringify(text)}`, () => expect(isTotal(text)).to.equal(false));

  it('has numbers in its other cells', () => {
    for (const cell of ['1', '1,290,000.00', '€ 1.200', 'EUR 12', '12 EUR', '12 %', '-1', '(3)', "1'200", '1.2m'])
      expect(isNumeric(cell), cell).to.equal(true);
    for (const cell of ['Referral', '2026-11-20T', 'a1', 'Q1 report', ''])
      expect(isNumeric(cell), cell).to.equal(false);
  });
});

describe('a label in a footer', () => {
  it('ends with a colon', () => {
    for (const text of ['Filtered By:', 'Generated: ', '作成日：']) expect(isLabel(text), text).to.equal(true);
    for (const text of ['', ':', 'a:b', '10:00']) expect(isLabel(text), text).to.equal(false);
  });
});

describe('the header once more', () => {
  const names = ['crm_id', 'Lead Source', 'Industry', ''];

  it('is a row that equals it, at any place', () => {
    for (const number of [1, 7]) {
      expect(repeatsHeader(names, names, number)).to.equal(true);
      expect(repeatsHeader(['crm_id ', 'Lead Source', 'Industry'], names, number)).to.equal(true);
      expect(repeatsHeader(['crm_id', 'Lead Source', 'Software'], names, number)).to.equal(false);
      expect(repeatsHeader(['crm_id', 'Lead Source'], names, number)).to.equal(number === 1);
    }
  });

  it('is a row of the same names in another form, right below it alone', () => {
    expect(repeatsHeader(['CrmId', 'lead_source', 'INDUSTRY', ''], names, 1)).to.equal(true);
    expect(repeatsHeader(['CrmId', 'lead_source', 'INDUSTRY', ''], names, 7)).to.equal(false);
    expect(repeatsHeader(['', 'lead_source', '', ''], names, 1)).to.equal(false);
  });
});

describe('a row that is no lead', () => {
  const problem = (cells: readonly string[], number = 1) => oddRowProblem(cells, { number, idColumn: 0 });
  const units = (first: string): string =>
    `The row has units or types of columns, such as ${JSON.stringify(first)}. Delete it`;
  const dashes = 'The row has only dashes, as between a header and its rows. Delete it';

  it('has units below the header', () => {
    expect(problem(['', '', 'EUR', 'yes/no'])).to.equal(units('EUR'));
    expect(problem(['', '[EUR]', '(%)', 'days'])).to.equal(units('[EUR]'));
    expect(problem(['id', 'T€', 'k€'])).to.equal(undefined);
    expect(problem(['', 'TEUR', '€', 'Mio. EUR'], 2)).to.equal(units('TEUR'));
    expect(problem(['', 'dd.mm.yyyy', 'YYYY-MM-DD'])).to.equal(units('dd.mm.yyyy'));
  });

  it('is found at once in hostile cells, which are no units', () => {
    const hostile = [`d/${'d'.repeat(1e5)}1`, `(${' '.repeat(1e5)}x`, `${'-'.repeat(1e6)}x`, `d${' d'.repeat(1e5)}1`];
    for (const cell of hostile) expect(problem([cell, 'EUR'])).to.equal(undefined);
  });

  it('has types of columns below the header', () => {
    expect(problem(['uuid', 'varchar(255)', 'decimal(10, 2)', 'boolean'])).to.equal(units('uuid'));
    expect(problem(['Text', 'Picklist', 'Currency', 'Date/Time'])).to.equal(units('Text'));
  });

  it('has dashes, at any place', () => {
    for (const number of [1, 500]) {
      expect(problem(['---', '-----', '--'], number)).to.equal(dashes);
      expect(problem(['======', '=== ', ''], number)).to.equal(dashes);
      expect(problem([':---', ':-:', '---:'], number)).to.equal(undefined);
      expect(problem(['|---', '--|--', '---|'], number)).to.equal(dashes);
    }
  });

  it('has no lead in it: a row with an id or another value is one', () => {
    expect(problem(['a', 'EUR', '%'])).to.equal(undefined);
    expect(problem(['', 'EUR', '12'])).to.equal(undefined);
    expect(problem(['', 'EUR', 'yes/no'], 3)).to.equal(undefined);
    expect(problem(['a', '-', '--'])).to.equal(undefined);
    expect(problem(['', '', '', ''])).to.equal(undefined);
    expect(oddRowProblem(['EUR'], { number: 1, idColumn: undefined })).to.equal(undefined);
    expect(oddRowProblem(['EUR', '%'], { number: 1, idColumn: undefined })).to.equal(units('EUR'));
  });
});
