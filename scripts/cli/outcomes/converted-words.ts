const yes = ['1', 'true', 'yes', 'y', 't', 'on', 'won', 'converted'];
const no = ['0', 'false', 'no', 'n', 'f', 'off', 'lost', 'open'];

/** What a cell may say of whether a lead has converted, for people. */
export const convertedWords = `yes (${yes.join(', ')}) or no (${no.join(', ')})`;

/**
 * Reads whether a lead has converted, in upper or lower case; `1.0` and `0.0` too, as pandas writes a column with gaps.
 * @returns undefined when the cell says neither
 */
export function readConverted(cell: string): boolean | undefined {
  const word = cell
    .trim()
    .toLowerCase()
    .replace(/^([01])\.0+$/, '$1');
  if (yes.includes(word)) return true;
  return no.includes(word) ? false : undefined;
}
