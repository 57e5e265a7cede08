import { type CrmIdProblem, readCrmId } from '../../contract/crm-id.js';
import { foldFieldName, longestForm, maxCrmId } from '../../contract/texts.js';
import { shownName } from './csv-columns.js';
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

const maxRemembered = 10_000; // keys of JSON may be data, and folding takes long
const [space, lastAscii, toLowerCase] = [0x20, 0x7e, 0x20];

/**
 * The member with the crm_id of JSON records. As in a CSV, case, spaces, invisible characters, `_` and `-` count only
 * if a record has a member of exactly this name.
 */
export class IdMember {
  /** Whether a record had it. */
  wasFound = false;
  private readonly folded: string;
  /** Names beyond ASCII. */
  private readonly remembered = new Map<string, boolean>();

  /** @param wanted its name */
  constructor(readonly wanted = 'crm_id') {
    this.folded = foldFieldName(wanted);
  }

  /** The name of the member in a record; undefined without one. A problem if several can be the crm_id. */
  in(record: object): { readonly name: string | undefined } | { readonly problem: string } {
    if (Object.hasOwn(record, this.wanted)) {
      this.wasFound = true;
      return { name: this.wanted };
    }
    let name: string | undefined;
    for (const each in record) {
      if (!this.isMeant(each)) continue;
      if (name !== undefined)
        return {
          problem: `Two members can be the crm_id: ${shownName(name)} and ${shownName(each)}. Rename one of them`,
        };
      name = each;
    }
    this.wasFound ||= name !== undefined;
    return { name };
  }

  /** Whether a name folds to the wanted one. Most names differ in their first letter. */
  private isMeant(name: string): boolean {
    const { folded } = this;
    let found = 0;
    for (let at = 0; at < name.length; at += 1) {
      const code = name.charCodeAt(at);
      if (code > lastAscii) return this.isMeantBeyondAscii(name);
      // Spaces, control characters, `_` and `-` do not count.
      if (code <= space || code === 0x5f || code === 0x2d) continue;
      const isCapital = code >= 0x41 && code <= 0x5a;
      if (folded.charCodeAt(found) !== (isCapital ? code + toLowerCase : code)) return false;
      found += 1;
    }
    return found === folded.length;
  }

  private isMeantBeyondAscii(name: string): boolean {
    // It is not remembered either: a name may have a megabyte.
    if (name.length > longestForm(this.wanted)) return false;
    const known = this.remembered.get(name);
    if (known !== undefined) return known;
    if (this.remembered.size >= maxRemembered) return false;
    const isMeant = foldFieldName(name) === this.folded;
    this.remembered.set(name, isMeant);
    return isMeant;
  }
}
