import { setImmediate as nextStep } from 'node:timers/promises';
import { foldFieldName, longestForm, shortenedText } from '../../contract/texts.js';
import type { KnownFields } from '../../messages/field-slots.js';
import { InputFault } from './input-fault.js';

/** Folding so many characters of names takes up to 10 ms. */
const charactersPerStep = 16 * 1024;
const maxListed = 12;
const maxNameLength = 60;

/**
 * The index of the column of a name. Without a column of exactly this name, case, spaces, invisible characters, `_`
 * and `-` do not count.
 * @returns undefined without such a column
 * @throws InputFault if several columns are meant
 */
export async function columnOf(
  names: readonly string[],
  { wanted, line, purpose }: { readonly wanted: string; readonly line: number; readonly purpose: string },
): Promise<number | undefined> {
  const equal = await matching(names, wanted);
  const [first, second] = equal;
  if (second === undefined) return first;
  const [one = '', other = ''] = equal.map((index) => shownName(names[index] ?? ''));
  if (one === other) throw twoColumns(names[second] ?? '', { line, first: first ?? 0, second });
  const columns = `columns ${(first ?? 0) + 1} and ${second + 1}`;
  throw new InputFault(
    `Two columns can be the ${purpose} (line ${line}): ${one} and ${other}, ${columns}. Rename one of them`,
    { line },
  );
}

async function matching(names: readonly string[], wanted: string): Promise<number[]> {
  const indexes = (isWanted: (name: string) => boolean): number[] =>
    names.flatMap((name, index) => (isWanted(name) ? [index] : []));
  const exact = indexes((name) => name === wanted);
  if (exact.length > 0) return exact;
  const folded = foldFieldName(wanted);
  const found: number[] = [];
  let characters = 0;
  for (const [index, name] of names.entries()) {
    if (name.length > longestForm(wanted)) continue;
    if (foldFieldName(name) === folded) found.push(index);
    characters += name.length;
    if (characters < charactersPerStep) continue;
    characters = 0;
    await nextStep();
  }
  return found;
}

const twoColumns = (
  name: string,
  { line, first, second }: { readonly line: number; readonly first: number; readonly second: number },
): InputFault =>
  new InputFault(
    `Two columns have the name ${shownName(name)} (line ${line}, columns ${first + 1} and ${second + 1}). Rename or remove one of them`,
    { line },
  );

/**
 * Refuses two columns of one name, unless the model does not read it.
 * @param isRead whether the model reads a name; undefined if that is not known
 */
export function refuseRepeated(
  names: readonly string[],
  { line, isRead }: { readonly line: number; readonly isRead: ((name: string) => boolean) | undefined },
): void {
  const seen = new Map<string, number>();
  for (const [second, name] of names.entries()) {
    if (name.trim() === '') continue;
    const first = seen.get(name);
    if (first === undefined) seen.set(name, second);
    else if (isRead?.(name) !== false) throw twoColumns(name, { line, first, second });
  }
}

/** The columns with a name, and of several with one name the first. */
export function firstOfEach(names: readonly string[]): { readonly name: string; readonly index: number }[] {
  const seen = new Set<string>();
  return names.flatMap((name, index) =>
    name.trim() === '' || seen.size === seen.add(name).size ? [] : [{ name, index }],
  );
}

/** The header of a CSV as it was read. */
interface ReadNames {
  readonly names: readonly string[];
  readonly line: number;
  readonly delimiter: string;
}

/** The fault of a file none of whose columns the model knows. */
export const noKnownColumn = ({ names, line, delimiter }: ReadNames, fields: KnownFields): InputFault =>
  new InputFault(
    `The header (line ${line}) has no column that the model knows. Its columns: ${listedNames(names)}. Fields of the model: ${listedNames([...new Set(fields.slotNames)])}${delimiterText({ names, delimiter })}`,
    { line },
  );

/** The fault of a file without a column that it must have. @param without completes the sentence: `the column "Id"` */
export const noSuchColumn = (without: string, { names, line, delimiter }: ReadNames): InputFault =>
  new InputFault(
    `The header (line ${line}) has no ${without}. Its columns: ${listedNames(names)}${delimiterText({ names, delimiter })}`,
    { line },
  );

const delimiterNames: Readonly<Record<string, string>> = { ',': 'commas', ';': 'semicolons', '\t': 'tabs' };
/** Characters that separate the columns of some files. A first line can name each of them. */
const otherDelimiters = [';', '|', '^', '~', ','] as const;

/** Names the delimiter that was used, if some names seem to be several names in one; otherwise an empty text. */
function delimiterText({ names, delimiter }: Pick<ReadNames, 'names' | 'delimiter'>): string {
  // A name may have one of them of its own: "Revenue, EUR".
  const other = otherDelimiters.find(
    (each) => each !== delimiter && names.join('').split(each).length >= Math.max(2, names.length),
  );
  if (names.length > 1 && other === undefined) return '';
  const used = `. The columns were separated at ${delimiterNames[delimiter] ?? JSON.stringify(delimiter)}`;
  return other === undefined
    ? used
    : `${used}. If "${other}" separates them, begin the file with the line sep=${other}`;
}

/** Names for a message, at most twelve. */
export function listedNames(names: readonly string[]): string {
  const more = names.length - maxListed;
  return `${names.slice(0, maxListed).map(shownName).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** JSON quoting keeps line breaks and control characters of a name out of logs and terminals. */
export const shownName = (name: string): string => JSON.stringify(shortenedText(name, maxNameLength));
