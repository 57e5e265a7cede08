import { foldedText } from '../../shared/normal-text.js';

/** Enough for the vocabulary of a field; callers may send endlessly many texts, so a full memory is emptied. */
const REMEMBERED_TEXTS = 1024;
/** A longer text is worked out each time rather than kept. */
const LONGEST_REMEMBERED_TEXT = 64;
/** A longer text is no single value. NFKC can make megabytes eighteen times as long, so they never get there. */
const LONGEST_VALUE = 4096;

/**
 * A reader of texts that folds them and remembers its answers, within bounded memory.
 * @param read a pure function of a folded text (see `foldedText`)
 * @param tooLong the answer for a text of more than 4096 characters, white space around it not counted
 */
export function compileTextReader(
  read: (folded: string) => number,
  { tooLong }: { readonly tooLong: number },
): (text: string) => number {
  const answers = new Map<string, number>();
  return (text) => {
    const known = answers.get(text);
    if (known !== undefined) return known;
    if (text.length > LONGEST_REMEMBERED_TEXT) {
      const trimmed = text.trim();
      return trimmed.length > LONGEST_VALUE ? tooLong : read(foldedText(trimmed));
    }
    const answer = read(foldedText(text));
    if (answers.size >= REMEMBERED_TEXTS) answers.clear();
    answers.set(text, answer);
    return answer;
  };
}
