import { foldedText } from '../../contract/texts.js';

/*
 * Words that begin a row of totals, in the languages of exports: CRMs, reports and spreadsheets write them.
 */

const phrases: readonly string[] = [
  ...['total', 'totals', 'grand total', 'grand totals', 'sub total', 'sub-total', 'subtotal', 'subtotals', 'totalt'],
  ...['total records', 'total rows', 'total leads', 'total count', 'record count', 'row count', 'number of records'],
  ...['sum', 'sums', 'sum total', 'overall', 'overall total', 'report total', 'page total', 'count'],
  ...['running total', 'average', 'avg', 'mean', 'median', 'summe', 'summen', 'gesamt', 'gesamtsumme', 'endsumme'],
  ...['gesamtergebnis', 'teilergebnis', 'zwischensumme', 'insgesamt', 'anzahl', 'mittelwert', 'durchschnitt'],
  ...['total général', 'total general', 'sous-total', 'sous total', 'somme', 'moyenne'],
  ...['suma', 'suma total', 'totales', 'promedio', 'recuento', 'total geral', 'soma', 'média', 'contagem'],
  ...['totale', 'totale complessivo', 'totale generale', 'subtotale', 'somma', 'conteggio', 'totaal', 'eindtotaal'],
  ...['subtotaal', 'gemiddelde', 'aantal', 'summa', 'totalsumma', 'delsumma', 'medelvärde', 'i alt'],
  ...['hovedtotal', 'totalsum', 'gennemsnit', 'yhteensä', 'kaikki yhteensä', 'loppusumma', 'välisumma', 'razem'],
  ...['suma końcowa', 'suma częściowa', 'łącznie', 'ogółem', 'średnia', 'celkem', 'celkový součet', 'součet'],
  ...['mezisoučet', 'průměr', 'spolu', 'celkový súčet', 'összesen', 'végösszeg', 'részösszeg', 'átlag', 'sumă'],
  ...['toplam', 'genel toplam', 'ara toplam', 'ortalama', 'итого', 'всего', 'общий итог', 'итог', 'сумма', 'среднее'],
  ...['промежуточный итог', 'разом', 'усього', 'загальний підсумок', 'σύνολο', 'γενικό σύνολο', 'общо', 'סה"כ'],
  ...[
    'סך הכל',
    'المجموع',
    'المجموع الكلي',
    'الإجمالي',
    '合計',
    '総計',
    '小計',
    '総合計',
    '平均',
    '合计',
    '总计',
    '總計',
  ],
  ...[
    '小计',
    '汇总',
    '합계',
    '총계',
    '총합계',
    '소계',
    '평균',
    'tổng',
    'tổng cộng',
    'jumlah',
    'total keseluruhan',
    'รวม',
  ],
];
const known: ReadonlySet<string> = new Set(phrases.map(foldedText));
const maxLength = 60;
/** Most ids have a digit in their first word, and no total has. */
const beginsWithWord = /^\s*[^\d\s@.#/:]+(?:[\s(:：]|$)/u;

/** Whether a text is a word for totals, perhaps with a count: `Total`, `Grand Total (2 records)`, `Summe: 12`. */
export function isTotal(text: string): boolean {
  const first = text.charCodeAt(0);
  if ((first >= 0x30 && first <= 0x39) || text.length > maxLength || !beginsWithWord.test(text)) return false;
  const phrase = text.replace(/[(（[].*$/s, '').replace(/[\s:：=\d.,]+$/u, '');
  return known.has(foldedText(phrase));
}

/** Whether a text names what follows it: `Filtered By:`. */
export function isLabel(text: string): boolean {
  let at = text.length - 1;
  while (at >= 0 && text.charCodeAt(at) <= 0x20) at -= 1;
  return at > 0 && (text[at] === ':' || text[at] === '：');
}

/** Whether a cell of a row of totals has no more than a number, with a currency, a unit or a per cent sign. */
export const isNumeric = (text: string): boolean =>
  text.length <= maxLength &&
  /^[\s\p{Sc}]*(?:\p{Lu}{3}\s)?[\s\p{Sc}(+\u2212-]*\p{N}[\p{N}\s.,'’)]*(?:%|\p{Sc}|\p{L}{1,4})?\s*$/u.test(text);
