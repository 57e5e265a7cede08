import { longestValue } from '../../shared/longest-texts.js';
import { foldedText } from '../../shared/normal-text.js';
import { LONGEST_REMEMBERED_TEXT, rememberTexts } from './remembered-texts.js';

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
    if (text.length <= LONGEST_REMEMBERED_TEXT) return read(foldedText(text));
    const trimmed = text.trim();
    return trimmed.length > longestValue ? tooLong : read(foldedText(trimmed));
  });
}
