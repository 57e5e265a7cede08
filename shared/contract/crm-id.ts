import { foldedText, isCrmId, isLongerThan, maxCrmId } from './texts.js';

/** Why a text is no crm_id. `absent` is an empty text. */
export type CrmIdProblem = 'absent' | 'placeholder' | 'scientific' | 'too_long' | 'characters';

export type ReadCrmId = { readonly id: string } | { readonly problem: CrmIdProblem };

/** Words of programs for a value that is not there, folded. As an id, one would make one lead of many. */
const placeholders: ReadonlySet<string> = new Set([
  ...['#n/a', '#na', 'n/a', 'na', 'n.a.', 'nan', 'null', '(null)', '<null>', '[null]', 'nil', 'none', '(none)'],
  ...[
    'undefined',
    '[object object]',
    'blank',
    '(blank)',
    '[blank]',
    'empty',
    '(empty)',
    '-',
    '--',
    '---',
    '–',
    '—',
    '?',
  ],
  ...['#ref!', '#value!', '#name?', '#div/0!', '#num!', '#null!', '#error!'],
]);
const maxPlaceholder = 20; // characters; longer texts are not folded
/** No placeholder has these characters and a digit, and no shortened number. Most ids do, and folding takes long. */
const withDigit = /^[a-z_-]*\d[\w-]*$/i;

/** `1.20214E+17`: a spreadsheet has cut off digits. A form converts the plus sign to a space. */
const scientific = /^[+-]?\d(?:[.,]\d+)?e[+ ]\d{2,3}$/i;

/** Reads the text of an id as all endpoints and files do. The id is the text itself: see `storedCrmId`. */
export function readCrmId(text: string): ReadCrmId {
  if (text === '') return { problem: 'absent' };
  if (text.length <= maxPlaceholder && !withDigit.test(text)) {
    const folded = foldedText(text);
    if (folded === '' || placeholders.has(folded)) return { problem: 'placeholder' };
    if (scientific.test(folded)) return { problem: 'scientific' };
  }
  if (isCrmId(text)) return { id: text };
  return { problem: isLongerThan(text, maxCrmId) ? 'too_long' : 'characters' };
}

/** Completes the name of a crm_id that was sent as a larger number than parsers of JSON keep. */
export const beyondSafe = 'is a whole number beyond 2^53, whose last digits are lost in JSON: quote it, as in "123"';

const salesforceLength = 15;
const salesforceShort = /^[0-9A-Za-z]{15}$/;
const salesforceLong = /^[0-9A-Za-z]{15}[A-Z0-5]{3}$/;
const caseCharacters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ012345';

/**
 * The form under which a lead is stored and compared. All ids are compared exactly, but Salesforce writes one id in two
 * forms: 15 characters, or the same followed by three that encode their case. The longer form is stored as the shorter.
 * The three characters are checked, so the shorter form of an id cannot be another lead's id by chance.
 * https://help.salesforce.com/s/articleView?id=000383751
 */
export function storedCrmId(id: string): string {
  if (id.length !== salesforceLength + 3 || !salesforceLong.test(id)) return id;
  const short = id.slice(0, salesforceLength);
  return id.endsWith(caseOf(short)) ? short : id;
}

/**
 * The stored id of Salesforce whose longer form begins with a text of 16 to 18 characters. The letters of a whole one
 * may have any case, because the last three characters tell it.
 */
export function salesforceIdOf(text: string): string | undefined {
  const [short, rest] = [text.slice(0, salesforceLength), text.slice(salesforceLength)];
  if (rest === '' || rest.length > 3 || !salesforceShort.test(short)) return undefined;
  if (rest.length === 3) return restored(short, rest.toUpperCase());
  return caseOf(short).startsWith(rest) ? short : undefined;
}

/** An id of 15 characters with the case of its letters; undefined if the characters give no case. */
function restored(short: string, characters: string): string | undefined {
  const bits = (at: number): number => caseCharacters.indexOf(characters.charAt(Math.floor(at / 5))) >> (at % 5);
  const id = [...short].map((each, at) => (bits(at) & 1 ? each.toUpperCase() : each.toLowerCase())).join('');
  return caseOf(id) === characters ? id : undefined;
}

/** The forms in which callers may have written an id, the stored one first. Erasures look for all of them. */
export function writtenForms(id: string): readonly string[] {
  const stored = storedCrmId(id);
  return salesforceShort.test(stored) ? [stored, stored + caseOf(stored)] : [stored];
}

/** One character for each five of the id: bit n tells whether the n-th is a capital. */
function caseOf(short: string): string {
  let characters = '';
  for (let from = 0; from < short.length; from += 5) {
    const isCapital = [...short.slice(from, from + 5)].map((each) => Number(each >= 'A' && each <= 'Z'));
    characters += caseCharacters[isCapital.reduce((bits, bit, at) => bits + bit * 2 ** at, 0)] ?? '';
  }
  return characters;
}
