import { foldedText } from '../../shared/contract/texts.js';
import { maxValue } from '../../shared/messages/cells.js';

/**
 * Compiles a text reader that folds its input and caches its results.
 * @param read a pure function of a folded text (see `foldedText`)
 * @param tooLong the result for a text of more than 4096 characters after trimming
 */
export function compileTextReader(
  read: (folded: string) => number,
  { tooLong }: { readonly tooLong: number },
): (text: string) => number {
  return rememberTexts((text) => {
    const folded = foldedValue(text);
    return folded === undefined ? tooLong : read(folded);
  });
}

/** Folds the text of one value (see `foldedText`); undefined for more than 4096 characters after trimming. */
export function foldedValue(text: string): string | undefined {
  if (text.length <= maxRememberedLength) return foldedText(text);
  const trimmed = text.trim();
  return trimmed.length > maxValue ? undefined : foldedText(trimmed);
}

const zeroFraction = /^(-?\d+)\.0+$/;

/** A whole number without the fraction that data frames write ("3.0" is "3"); any other text as it is. */
export const withoutZeroFraction = (folded: string): string => zeroFraction.exec(folded)?.[1] ?? folded;

/** Enough for the vocabulary of one field. A full cache is emptied, because callers send arbitrary texts. */
const maxRememberedTexts = 1024;
/** Longer texts are not cached. */
const maxRememberedLength = 64;

/**
 * Caches a function's results for texts of up to 64 characters.
 * @param work a pure function; callers must not modify its results
 */
export function rememberTexts<Answer extends number | object>(
  work: (text: string) => Answer,
): (text: string) => Answer {
  const answers = new Map<string, Answer>();
  return (text) => {
    const known = answers.get(text);
    if (known !== undefined) return known;
    const answer = work(text);
    if (text.length > maxRememberedLength) return answer;
    if (answers.size >= maxRememberedTexts) answers.clear();
    answers.set(text, answer);
    return answer;
  };
}
