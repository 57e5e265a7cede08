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

/** `1.20214E+17`: a spreadsheet has cut off digits. A form turns the plus sign into a space. */
const scientific = /^[+-]?\d(?:[.,]\d+)?e[+ ]\d{2,3}$/i;

/** Reads the text of an id as all endpoints and files do. The id is the text itself: ids are compared exactly. */
export function readCrmId(text: string): ReadCrmId {
  if (text === '') return { problem: 'absent' };
  if (text.length <= maxPlaceholder) {
    const folded = foldedText(text);
    if (folded === '' || placeholders.has(folded)) return { problem: 'placeholder' };
    if (scientific.test(folded)) return { problem: 'scientific' };
  }
  if (isCrmId(text)) return { id: text };
  return { problem: isLongerThan(text, maxCrmId) ? 'too_long' : 'characters' };
}
