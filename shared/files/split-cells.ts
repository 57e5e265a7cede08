/** A cell that a delimiter inside its quotes has split, because the quotes are not those of a CSV. */
interface SplitCell {
  /** Index of its first and of its last part among the cells. */
  readonly cell: number;
  readonly last: number;
  /** Sentences for people: what the cell has, and what to do. */
  readonly advice: string;
}

const straight = 'Use straight double quotes instead';
/** Quotes of word processors and of other languages, each with those that close it. */
const otherQuotes: ReadonlyMap<string, string> = new Map([
  ...[
    ['“', '”“'],
    ['”', '”'],
    ['„', '“”'],
    ['‟', '”'],
    ['«', '»'],
    ['»', '«'],
    ['‹', '›'],
    ['›', '‹'],
  ],
  ...[
    ['‘', '’‘'],
    ['‚', '‘’'],
    ['‛', '’'],
    ['″', '″'],
    ['＂', '＂'],
    ['〝', '〞〟'],
    ['❝', '❞'],
  ],
] as const);
/** White space and invisible characters, one of them beyond ASCII. A cell in quotes may begin with those of ASCII. */
const invisible = /^(?=[^"]*[^\t-\r -~])[\s\p{Cf}]+(?=")/u;
/** The text in quotes after such characters. */
const behindInvisible = /^(?=[^"]*[^\t-\r -~])[\s\p{Cf}]+"((?:[^"]|"")*)"[\s\p{Cf}]*$/u;
const codesOf = (texts: Iterable<string>): ReadonlySet<number> =>
  new Set([...texts].flatMap((text) => [...text].map((each) => each.charCodeAt(0))));
const openingCodes = codesOf(otherQuotes.keys());
const closingCodes = codesOf(otherQuotes.values());
const invisibleCode = /[\s\p{Cf}]/u;

/** Whether a cell that begins with a character beyond ASCII may have other quotes than those of a CSV. */
export const isOddOpening = (code: number): boolean => openingCodes.has(code) || isInvisible(code);

/** Whether a character closes quotes other than those of a CSV. */
export const isOddClosing = (code: number): boolean => closingCodes.has(code);

/** The text in quotes of another form, if a cell has nothing else. All other cells are as they are. */
export function withoutOtherQuotes(cell: string): string {
  const text = cell.trim();
  const closing = otherQuotes.get(text.slice(0, 1));
  if (closing !== undefined) {
    const inner = text.slice(1, -1);
    // Several texts in quotes are no quoted text.
    return text.length > 1 && closing.includes(text.slice(-1)) && !inner.includes(text.slice(0, 1)) ? inner : cell;
  }
  const [, quoted] = behindInvisible.exec(cell) ?? [];
  return quoted === undefined ? cell : quoted.replaceAll('""', '"');
}

function isInvisible(code: number): boolean {
  // Most characters beyond ASCII are letters, and these blocks have none.
  const isInBlock = code <= 0xad || (code >= 0x2000 && code <= 0x206f) || code === 0x3000 || code === 0xfeff;
  return isInBlock && invisibleCode.test(String.fromCharCode(code));
}

/** Quotes that open a cell, and the test of the text that closes it. */
interface Opening {
  readonly isClosedBy: (cell: string) => boolean;
  readonly advice: string;
}

/** Quotes that are compared with the cells after them: a row may have thousands of both. */
const maxOpenings = 20;
/** Parts of one split cell. */
const maxParts = 200;

/**
 * Finds a cell that begins with other quotes than those of a CSV, and a later cell that ends with them.
 * @param options.isTooLong whether the row has too many cells. Apostrophes count as quotes only then
 */
export function splitCell(cells: readonly string[], options: { readonly isTooLong: boolean }): SplitCell | undefined {
  let openings = 0;
  for (const [cell, text] of cells.entries()) {
    const opening = openings < maxOpenings ? openingOf(text, options) : undefined;
    if (opening === undefined || opening.isClosedBy(text)) continue;
    openings += 1;
    const parts = cells.slice(cell + 1, cell + maxParts);
    const closing = parts.findIndex((each) => opening.isClosedBy(each));
    const isOpenedAgain = parts.slice(0, closing + 1).some((each) => openingOf(each, options) !== undefined);
    if (closing !== -1 && !isOpenedAgain) return { cell, last: cell + 1 + closing, advice: opening.advice };
  }
  return undefined;
}

function openingOf(cell: string, { isTooLong }: { readonly isTooLong: boolean }): Opening | undefined {
  const text = cell.trimStart();
  if ((text.startsWith('"') && text.includes('\\"')) || text.endsWith('\\'))
    return { isClosedBy: endsQuoted, advice: 'It has \\" inside. Write each quote in a quoted cell twice' };
  if (text.startsWith('="'))
    return { isClosedBy: (each) => /[^=]"\s*$/.test(each), advice: 'It has the form ="…". Write it as "=""…"""' };
  if (invisible.test(cell))
    return {
      isClosedBy: (each) => /[^"]"\s*$/.test(each),
      advice: 'An invisible character stands before its quote. Remove this character',
    };
  const [first = ''] = text;
  const closing = otherQuotes.get(first) ?? (first === "'" && isTooLong ? "'" : undefined);
  if (closing === undefined) return undefined;
  return {
    isClosedBy: (each) => {
      const end = each.trimEnd();
      return end.length > (each === cell ? cell.length - text.length + 1 : 0) && closing.includes(end.slice(-1) || ' ');
    },
    advice: `It has the quotes ${first}…${closing.slice(0, 1)}. ${straight}`,
  };
}

/** Whether a cell ends with a quote that no backslash precedes. */
const endsQuoted = (cell: string): boolean => /(?:^|[^\\])"\s*$/.test(cell) && !/^\s*"[^"]*(?:"\s*)?$/.test(cell);
