import { CsvRows } from '../csv-rows.js';
import { InputFault } from './input-fault.js';

/** The line `sep=;` that Excel reads and writes, perhaps quoted and with empty cells after it. */
const separatorLine = /^"?sep=([^\w"\r\n])"?[;,|\t ]*$/i;

/** The delimiter of a CSV, and the characters and lines before its header. */
export interface CsvStart {
  readonly delimiter: string;
  readonly skip: number;
  readonly skippedLines: number;
}

/**
 * Reads how a CSV begins.
 * @param text from the first line that is not blank
 * @returns undefined if more text is needed
 */
export function csvStart(text: string, { isAll }: { readonly isAll: boolean }): CsvStart | undefined {
  const first = firstLine(text);
  if (first === undefined && !isAll) return undefined;
  const [, delimiter] = separatorLine.exec(first ?? text) ?? [];
  if (delimiter === undefined || delimiter > '\x7f')
    return { delimiter: delimiterOf(first ?? text), skip: 0, skippedLines: 0 };
  const lineEnd = /^(?:\r\n|\r|\n)*/.exec(text.slice(first?.length ?? text.length))?.[0] ?? '';
  // The LF of a CRLF may come later.
  if (!isAll && first !== undefined && first.length + lineEnd.length === text.length) return undefined;
  return {
    delimiter,
    skip: (first ?? text).length + lineEnd.length,
    skippedLines: lineEnd.replaceAll('\r\n', '\n').length,
  };
}

const maxTitleLines = 20;
/** Folding the names of more text would keep other work waiting. */
const maxTitleCharacters = 16 * 1024;

/**
 * Finds the header below lines that were taken for it: titles of a report.
 * @param names of the line that was taken for the header
 * @param after the text from the line `lineAfter`
 * @param canBeHeader whether some names can be a header; undefined if no name is known
 * @returns the fault of a file with titles
 */
export function titlesFault(
  names: readonly string[],
  { line, lineAfter, after, canBeHeader }: TitlesOptions,
): InputFault | undefined {
  if (names.join('').length > maxTitleCharacters) return undefined;
  const known = knownIn(names, canBeHeader);
  if (known > 1) return undefined;
  const isHeader = headerTest(names, known, canBeHeader);
  let last = line;
  for (const { cells, at } of linesOf(after.slice(0, maxTitleCharacters))) {
    if (isHeader(cells)) {
      const titles = last === line ? `Line ${line} stands` : `Lines ${line} to ${last} stand`;
      const message = `${titles} before the names of the columns, which are in line ${lineAfter + at}. Delete the title lines`;
      return new InputFault(message, { line });
    }
    last = lineAfter + at;
  }
  return undefined;
}

/** Whether a line can be the header below titles of which `known` names can be in a header. */
function headerTest(names: readonly string[], known: number, canBeHeader: CanBeHeader | undefined): CanBeHeader {
  if (canBeHeader === undefined) return (cells) => names.length === 1 && cells.length > 2;
  if (known === 0) return canBeHeader;
  // A title may be the name of a field. A lead with two such names has no further cells.
  const filled = filledIn(names);
  return (cells) => filledIn(cells) > filled && knownIn(cells, canBeHeader) > 1;
}

/** Number of names that can be in a header, at most 2. */
function knownIn(names: readonly string[], canBeHeader: CanBeHeader | undefined): number {
  let known = 0;
  for (const name of names) {
    if (canBeHeader?.([name]) === true) known += 1;
    if (known > 1) return known;
  }
  return known;
}

const filledIn = (cells: readonly string[]): number => cells.filter((cell) => cell.trim() !== '').length;

interface TitlesOptions {
  readonly line: number;
  readonly lineAfter: number;
  readonly after: string;
  readonly canBeHeader: CanBeHeader | undefined;
}

export type CanBeHeader = (names: readonly string[]) => boolean;

/** The first lines that are not blank, each read with its own delimiter. */
function linesOf(text: string): { readonly cells: readonly string[]; readonly at: number }[] {
  const found: { cells: readonly string[]; at: number }[] = [];
  for (const [at, line] of text.split(/\r\n|\r|\n/).entries()) {
    if (found.length > maxTitleLines) break;
    if (line.trim() === '') continue;
    const row = new CsvRows(line, { delimiter: delimiterOf(line), maxCells: Number.POSITIVE_INFINITY, firstLine: 1 });
    row.next();
    found.push({ cells: [...row.cells], at });
  }
  return found;
}

const [quote, lineFeed, carriageReturn] = [0x22, 0x0a, 0x0d];
const candidates = [',', ';', '\t', '|'] as const;

/**
 * Detects the delimiter: the candidate that is most frequent in the header outside quotes, or a comma.
 * @param header see `firstLine`
 */
function delimiterOf(header: string): string {
  const counts = new Uint32Array(256);
  // A header may have a megabyte: it is read once, and no text is made of it.
  const count = (from: number, to: number): void => {
    for (let at = from; at < to; at += 1) {
      const code = header.charCodeAt(at);
      if (code < counts.length) counts[code] = (counts[code] as number) + 1;
    }
  };
  let from = 0;
  for (;;) {
    const opening = header.indexOf('"', from);
    const closing = opening === -1 ? -1 : header.indexOf('"', opening + 1);
    // A quote that is not closed is an ordinary character.
    if (closing === -1) break;
    count(from, opening);
    from = closing + 1;
  }
  count(from, header.length);
  const countOf = (candidate: string): number => counts[candidate.charCodeAt(0)] ?? 0;
  const [delimiter] = [...candidates].sort((one, other) => countOf(other) - countOf(one));
  return delimiter ?? ',';
}

/** The first non-blank line, including quoted line breaks. Undefined if the line end has not been read yet. */
function firstLine(text: string): string | undefined {
  const start = text.search(/[^\r\n]/);
  let quoted = false;
  for (let index = Math.max(0, start); index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === quote) quoted = !quoted;
    else if (!quoted && (code === lineFeed || code === carriageReturn)) return text.slice(start, index);
  }
  return undefined;
}
