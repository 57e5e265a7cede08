import { wholePercentText } from '../../contract/figures.js';
import type { Coverage, FieldCoverage } from '../../store/models/coverage.js';

/** Shares of records, or of values, from which a field needs attention. */
const noticedShare = 0.1;
/** A field that fewer records had before is not missed. */
const usualShare = 0.2;
/** With fewer records on either side, chance alone would make a drop. */
const minRecords = 20;

/** The records that had a value, sent or filled in. */
export const valuesOf = ({ sent, filled }: Pick<FieldCoverage, 'sent' | 'filled'>): number => sent + filled;

export const shareOf = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);

/**
 * Why fields need attention, the worst first:
 * - its values were not seen in training, or cannot be read;
 * - no record had it, or hardly any of the last day with records.
 */
export function attentionOf({ days, fields }: Coverage): string[] {
  const records = days.reduce((sum, day) => sum + day.records, 0);
  if (records === 0) return [];
  const found = fields.flatMap((field) => {
    const { unseen, unread } = field;
    const values = valuesOf(field);
    if (values === 0) return [{ text: `${field.field} sent in 0 %`, share: 1 }];
    const shares = { unseen: shareOf(unseen, values), unread: shareOf(unread, values) };
    const [first] = field.unseen_values;
    const example = first === undefined ? '' : ` (${printable(first.value)})`;
    return [
      ...(shares.unseen < noticedShare
        ? []
        : [{ text: `${field.field} unseen in ${wholePercentText(shares.unseen)}${example}`, share: shares.unseen }]),
      ...(shares.unread < noticedShare
        ? []
        : [{ text: `${field.field} unread in ${wholePercentText(shares.unread)}`, share: shares.unread }]),
      ...dropText(field, days),
    ];
  });
  return found.sort((one, other) => other.share - one.share).map(({ text }) => text);
}

function dropText({ field, by_day: byDay }: FieldCoverage, days: Coverage['days']) {
  const drop = dropIn(days.map((day, index) => ({ ...day, values: valuesOf(byDay[index] ?? { sent: 0, filled: 0 }) })));
  if (drop === undefined) return [];
  const { day, before, now } = drop;
  const text = `${field} in ${wholePercentText(now)} on ${day}, in ${wholePercentText(before)} before`;
  return [{ text, share: before - now }];
}

/** How far the share of records with a field fell on the last day with records. Shares are from 0 to 1. */
export interface FieldDrop {
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string;
  readonly before: number;
  readonly now: number;
}

/**
 * The drop of a field that less than half of the usual share of records had on the last day with records.
 * @param days oldest first; `values` counts the records of the day that had the field
 */
export function dropIn(
  days: readonly (Coverage['days'][number] & { readonly values: number })[],
): FieldDrop | undefined {
  const last = days.findLastIndex(({ records }) => records > 0);
  const { day = '', records = 0, values = 0 } = days[last] ?? {};
  const earlierDays = days.slice(0, Math.max(0, last));
  const earlier = earlierDays.reduce((sum, each) => sum + each.records, 0);
  const had = earlierDays.reduce((sum, each) => sum + each.values, 0);
  if (Math.min(earlier, records) < minRecords) return undefined;
  const [before, now] = [shareOf(had, earlier), shareOf(values, records)];
  return before < usualShare || now >= before / 2 ? undefined : { day, before, now };
}

const maxShown = 24;

/** A caller's value in one short line, without characters that control a terminal. */
export function printable(value: string): string {
  const clean = value.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '�');
  return [...clean].length <= maxShown ? clean : `${[...clean].slice(0, maxShown - 1).join('')}…`;
}
