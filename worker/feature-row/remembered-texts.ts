/** Enough for the vocabulary of a field; callers may send endlessly many texts, so a full memory is emptied. */
const REMEMBERED_TEXTS = 1024;
/** A longer text is worked out each time rather than kept. */
export const LONGEST_REMEMBERED_TEXT = 64;

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
    if (text.length > LONGEST_REMEMBERED_TEXT) return answer;
    if (answers.size >= REMEMBERED_TEXTS) answers.clear();
    answers.set(text, answer);
    return answer;
  };
}
