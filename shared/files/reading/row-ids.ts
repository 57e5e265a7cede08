import { type CrmIdProblem, readCrmId } from '../../contract/crm-id.js';
import { maxCrmId } from '../../contract/texts.js';
import { memberText } from './json-members.js';
import { shortenedRemedy } from './row-faults.js';

/** The crm_id of a row, null without one, or why it cannot be used. */
export type RowId = { readonly id: string | null } | { readonly problem: string; readonly isShortened?: boolean };

const problems: Readonly<Record<Exclude<CrmIdProblem, 'absent' | 'placeholder'>, string>> = {
  scientific: `The crm_id is a number that a spreadsheet has shortened. ${shortenedRemedy}`,
  too_long: `The crm_id must have at most ${maxCrmId} characters`,
  characters: 'The crm_id contains a character that is not allowed (NUL or half of a surrogate pair)',
};

/** Reads the text of a cell or of a JSON string. A placeholder such as `#N/A` is no id. */
export function idOfText(text: string): RowId {
  const read = readCrmId(text);
  if ('id' in read) return read;
  const { problem } = read;
  if (problem === 'absent' || problem === 'placeholder') return { id: null };
  return problem === 'scientific'
    ? { problem: problems.scientific, isShortened: true }
    : { problem: problems[problem] };
}

/** Data frames write a zero fraction: `12.0`. */
const wholeNumber = /^(-?\d+)(?:\.0+)?$/;

/**
 * Reads the crm_id of a JSON record. A whole number has the digits that the line has, because parsing rounds large
 * ones.
 * @param value of the member, parsed
 * @param text of the record
 */
export function idOfJson(value: unknown, { text, name }: { readonly text: string; readonly name: string }): RowId {
  if (value === undefined || value === null) return { id: null };
  if (typeof value === 'string') return idOfText(value);
  // `1.2E+15` is a whole number too, but its digits are lost.
  if (Number.isSafeInteger(value) && !/\d[.eE]/.test(text)) return { id: String(value) };
  const digits = typeof value === 'number' ? memberText(text, name) : undefined;
  const [, whole] = wholeNumber.exec(digits ?? '') ?? [];
  if (whole !== undefined) return idOfText(whole);
  const read = idOfText(digits ?? '');
  if ('problem' in read && read.isShortened === true) return read;
  return { problem: 'The crm_id must be a text or a whole number' };
}
