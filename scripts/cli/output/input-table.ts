import { dateOrderText } from '../../../shared/bundle/expected-values.js';
import type { InputSums, SummedField } from './input-summary.js';
import { countText } from './readable-numbers.js';
import { type Columns, tableOf } from './table.js';
import { wrapText } from './wrap-text.js';

/** Lines of the table, and of the names below it. */
const maxLines = 20;

/**
 * The fields of which values were not read or not seen, most records first, and the names that look misspelt. Date
 * fields that may have another order come last.
 * @returns an empty text when there is nothing to tell
 */
export function inputTable(sums: InputSums, { width }: { readonly width: number }): string {
  const told = sums.fields.filter(({ unread, unseen }) => unread + unseen > 0);
  told.sort((one, other) => other.unread + other.unseen - (one.unread + one.unseen));
  const table = told.length === 0 ? [] : [tableOf(told.slice(0, maxLines), columnsOf(sums), { width })];
  const more = told.length - maxLines;
  const lines = [
    ...table,
    ...(more > 0 ? [`and ${countText(more)} more fields, see --json`] : []),
    ...misspelt(sums).slice(0, maxLines),
  ];
  const blocks = [
    { title: 'Values and names that the model does not know', lines },
    { title: 'Dates that can be read in two ways', lines: ambiguousDates(sums, width) },
  ];
  return blocks
    .filter((block) => block.lines.length > 0)
    .map((block) => [block.title, ...block.lines].join('\n'))
    .join('\n\n');
}

const columnsOf = ({ records, fields }: InputSums): Columns<SummedField> => [
  ['Field', ({ field }) => shown(field)],
  ['Sent', ({ sent }) => shareText(sent, records), 'right'],
  ['Unread', ({ unread }) => (unread === 0 ? '' : countText(unread)), 'right'],
  ['Unseen', ({ unseen }) => (unseen === 0 ? '' : countText(unseen)), 'right'],
  ...(fields.some(({ examples }) => examples !== undefined)
    ? [['Example', ({ examples = [] }: SummedField) => shown(examples[0] ?? '')] as const]
    : []),
  ['Unread because', ({ unread, reason = '' }) => (unread === 0 ? '' : reason)],
];

/** A field that other calls of the run sent was not meant. */
function misspelt({ ignored, fields }: InputSums): string[] {
  const sent = new Set(fields.filter((each) => each.sent > 0).map(({ field }) => field));
  return ignored.flatMap(({ name, did_you_mean: meant }) =>
    meant === undefined || sent.has(meant) ? [] : [`${shown(name)}: did you mean ${shown(meant)}?`],
  );
}

/**
 * Date fields whose order is doubtful: some date does not fit the order of the model, or all that fit also fit the
 * other.
 */
function ambiguousDates({ fields }: InputSums, width: number): string[] {
  const lines = fields.flatMap(({ field, sent, unread, ambiguous = 0, date_order: order }) => {
    const isDoubtful = ambiguous > 0 && (unread > 0 || ambiguous >= sent - unread);
    if (!isDoubtful || order === undefined) return [];
    const counts = `${countText(unread)} of ${countText(sent)} unread, ${countText(ambiguous)} ambiguous`;
    return [wrapText(`${shown(field)}: the model reads ${dateOrderText[order]}: ${counts}`, width)];
  });
  if (lines.length === 0) return [];
  const remedy = 'If the file has another order, write these dates as year-month-day.';
  return [...lines.slice(0, maxLines), wrapText(remedy, width)];
}

/** A share that is not all is never shown as all, nor one above none as none. */
function shareText(part: number, whole: number): string {
  if (part === 0 || whole === 0) return '0 %';
  if (part === whole) return '100 %';
  return `${Math.min(99, Math.max(1, Math.round((100 * part) / whole)))} %`;
}

/** Control characters of a file must not reach the terminal. */
const shown = (text: string): string => text.replace(/\p{C}+/gu, ' ').trim();
