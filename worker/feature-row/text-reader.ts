/** Enough for the vocabulary of a field; callers may send endlessly many texts, so a full memory is emptied. */
const REMEMBERED_TEXTS = 1024;
/** A longer text is worked out each time rather than kept. */
const LONGEST_REMEMBERED_TEXT = 64;

/**
 * Remembers what a pure function of a text answered, within bounded memory.
 * @param compute the function
 * @returns the same function, faster on texts seen before
 */
export function boundedMemo(compute: (text: string) => number): (text: string) => number {
  const answers = new Map<string, number>();
  return (text) => {
    const known = answers.get(text);
    if (known !== undefined) return known;
    const answer = compute(text);
    if (text.length <= LONGEST_REMEMBERED_TEXT) {
      if (answers.size >= REMEMBERED_TEXTS) answers.clear();
      answers.set(text, answer);
    }
    return answer;
  };
}
