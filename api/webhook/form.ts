import { ApiError } from '../../shared/contract/errors.js';
import type { BodyEncoding } from '../request/content-type.js';
import { percentDecoded1252 } from '../request/windows-1252.js';
import { settingNames } from './envelopes.js';

/** Far above any tool's form. Parsing a field costs about 100 times as much as sending it. */
const maxFormFields = 10_000;

/** Longer names are not read by their parts. A field name has at most 255 characters. */
const maxNestedName = 512;
/** Objects of a CRM whose ids and settings are those of a lead. The id of a company would make all its leads one. */
const leadObjects: ReadonlySet<string> = new Set(
  'contact lead person prospect customer subscriber deal opportunity record data'.split(' '),
);
const ofLeadAlone: ReadonlySet<string> = new Set([
  'id',
  'objectid',
  'hsobjectid',
  'vid',
  ...[...settingNames].map(compared),
]);

/**
 * Parses a form. A repeated name becomes an array, because multi-selects repeat their name.
 *
 * Brackets in names: `x[]` and `x[0]` are `x`. A nested name (`contact[fields][lead_source]`) is read by its last part,
 * unless another name is the same or ends alike. Then the nested one keeps its whole name. `contact[id]` is an `id`,
 * and so is that of the other `leadObjects`, as for all ids and settings.
 * @param text with spaces in place of plus signs
 * @param encoding of percent-encoded bytes that are not UTF-8
 * @throws ApiError unreadableRequest for an empty form and bad encoding; refusedRequest for too many fields
 */
export function parseForm(text: string, encoding: BodyEncoding = 'utf-8'): unknown {
  if (text.trim() === '') throw new ApiError('unreadableRequest', 'The form is empty: send the fields of one record.');
  const pairs = text.split('&', maxFormFields + 1);
  if (pairs.length > maxFormFields) {
    throw new ApiError('refusedRequest', `The form has more than ${maxFormFields} fields.`);
  }
  const members = new Map<string, string | string[]>();
  const nested: NestedName[] = [];
  for (const pair of pairs) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = nameOf(decoded(equals === -1 ? pair : pair.slice(0, equals), encoding));
    const value = equals === -1 ? '' : decoded(pair.slice(equals + 1), encoding);
    const before = members.get(name.whole);
    if (before === undefined) {
      members.set(name.whole, value);
      if ('last' in name) nested.push(name);
    } else if (typeof before === 'string') members.set(name.whole, [before, value]);
    else before.push(value);
  }
  if ([...members.keys()].some((name) => name.includes('\0'))) {
    throw new ApiError('unreadableRequest', 'A name in the form contains a NUL character.');
  }
  return Object.fromEntries(nested.length === 0 ? members : byLastName(members, nested));
}

interface NestedName {
  /** `contact[fields][lead_source]`, without the brackets of a list after it. */
  readonly whole: string;
  /** `contact[fields]` */
  readonly parent: string;
  /** `lead_source` */
  readonly last: string;
}

/** Reads a name from its end, so that a megabyte of brackets costs one pass. */
function nameOf(sent: string): NestedName | { readonly whole: string } {
  if (sent.length > maxNestedName) return { whole: sent };
  let end = sent.length;
  while (sent[end - 1] === ']') {
    const open = sent.lastIndexOf('[', end - 2);
    const last = sent.slice(open + 1, end - 1);
    // Labels may end in brackets, too: "Budget [EUR]".
    if (open < 1 || sent[open - 1] === ' ' || last.includes(']')) break;
    if (!/^\d*$/.test(last)) return { whole: sent.slice(0, end), parent: sent.slice(0, open), last };
    end = open;
  }
  return { whole: sent.slice(0, end) };
}

/** Nearly `foldFieldName`, which takes 0.5 µs of a character and has a limit for that. */
function compared(name: string): string {
  return name.length > maxNestedName ? name : name.toLowerCase().replace(/[\s_-]+/g, '');
}

/** Names the nested members by their last part where it is theirs alone. Plain members come first. */
function byLastName(
  members: ReadonlyMap<string, string | string[]>,
  nested: readonly NestedName[],
): [string, string | string[]][] {
  const nestedNames = new Set(nested.map(({ whole }) => whole));
  const plain = [...members].filter(([name]) => !nestedNames.has(name));
  const uses = new Map<string, number>();
  for (const name of [...plain.map(([each]) => each), ...nested.map(({ last }) => last)]) {
    const folded = compared(name);
    uses.set(folded, (uses.get(folded) ?? 0) + 1);
  }
  const named = nested.map(({ whole, parent, last }): [string, string | string[]] => {
    const folded = compared(last);
    const isOwn = uses.get(folded) === 1 && (!ofLeadAlone.has(folded) || leadObjects.has(compared(parent)));
    return [isOwn ? last : whole, members.get(whole) ?? ''];
  });
  return [...plain, ...named];
}

function decoded(text: string, encoding: BodyEncoding): string {
  try {
    return decodeURIComponent(text);
  } catch {
    const otherText = encoding === 'windows-1252' ? percentDecoded1252(text) : undefined;
    if (otherText !== undefined) return otherText;
    throw new ApiError('unreadableRequest', 'The form is not percent-encoded UTF-8.');
  }
}
