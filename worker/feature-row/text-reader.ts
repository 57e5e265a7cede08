import { longestValue } from '../../shared/longest-texts.js';
import { foldedText } from '../../shared/normal-text.js';

/**
 * A reader of texts that folds them and remembers its answers, within bounded memory.
 * @param read a pure function of a folded text (see `foldedText`)
 * @param tooLong the answer for a text of more than 4096 characters, white space around it not counted
 */
export function compileTextReader(
  read: (folded: string) => number,
  { tooLong }: { readonly tooLong: number },
): (text: string) => number {
  return rememberTexts((text) => {
    if (text.length <= maxRememberedLength) return read(foldedText(text));
    const trimmed = text.trim();
    return trimmed.length > longestValue ? tooLong : read(foldedText(trimmed));
  });
}

/** Enough for the vocabulary of a field; callers may send endlessly many texts, so a full memory is emptied. */
const maxRememberedTexts = 1024;
/** A longer text is worked out each time rather than kept. */
export const maxRememberedLength = 64;

/**
 * A function of texts that remembers its answers to those of at most 64 characters, within bounded memory.
 * @param work a pure function; whoever asks must not change what it answers
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
