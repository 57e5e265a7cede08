/**
 * Whether a text has more characters (code points, as in JSON Schema) than `most`. A text that is far longer is not looked
 * through.
 */
export const isLongerThan = (text: string, most: number): boolean =>
  text.length > most && (text.length > 2 * most || [...text].length > most);
