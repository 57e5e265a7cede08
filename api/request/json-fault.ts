const [quote, backslash] = [0x22, 0x5c];
export const endsTooEarly = 'it ends too early';

/** A fault in a text that is not JSON. */
interface Fault {
  /** Index of its first character. */
  readonly position: number;
  /** The fault and its remedy, or ''. Quotes nothing of the text except words of `jsonFor`. */
  readonly hint: string;
}

/** Words of other languages for values, and what JSON has for them. */
const jsonFor: Readonly<Record<string, string>> = {
  NaN: 'null',
  nan: 'null',
  Infinity: 'null',
  '-Infinity': 'null',
  None: 'null',
  undefined: 'null',
  True: 'true',
  False: 'false',
};
const jsonWord = /^(?:true|false|null|-?\d[\d.eE+-]*)$/;
const anyWord = /[^\s"{}[\],:]+/y;

/**
 * Finds a word that JSON does not have, or a missing value, as templates leave it for an empty field. Other faults are
 * not found. Takes 10 ms per MB. A parser with error recovery would find all faults, but a caller can make it slow. For
 * example, jsonc-parser blocks the thread for 1.3 s on 8 MiB of spaces.
 */
function firstFault(text: string): Fault | undefined {
  let before = '';
  for (let position = 0; position < text.length; position += 1) {
    const found = text.charAt(position);
    if (found <= ' ') continue;
    if (found === '"') position = stringEnd(text, position);
    else if (found === ',' || found === ']' || found === '}') {
      if (before === ':') return { position, hint: 'there is no value after the colon' };
      // `[]` and `{}` alone need no value.
      const isFirst = before === '[' || before === '{';
      if (before === ',' || (found === ',' && isFirst)) return { position, hint: '' };
    } else if (found !== ':' && found !== '[' && found !== '{') {
      anyWord.lastIndex = position;
      const word = anyWord.exec(text)?.[0] ?? found;
      if (!jsonWord.test(word)) return { position, hint: hintFor(word) };
      position += word.length - 1;
    }
    before = found;
  }
  return undefined;
}

/** The index of the quote that closes a string, or the end of the text. */
export function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) return at;
    if (code === backslash) at += 1;
  }
  return text.length;
}

const hintFor = (word: string): string =>
  Object.hasOwn(jsonFor, word) ? `${word} is not JSON, write ${jsonFor[word]}` : '';

/** Describes an error of JSON.parse, without the caller's text, which newer engines quote. */
export function reasonOf(error: unknown, text: string): string {
  const message = error instanceof Error ? error.message : '';
  const stated = /at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(message);
  const position = stated === null ? undefined : Number(stated[1]);
  if (/^Unexpected end of JSON/.test(message) || (position ?? 0) >= text.length) return endsTooEarly;
  // JSON.parse does not always state a position.
  const fault = firstFault(text);
  const at = position ?? fault?.position;
  if (at === undefined) return 'unexpected text';
  // For a minus without a number JSON.parse states the position after it.
  const isSamePosition = fault !== undefined && Math.abs((position ?? fault.position) - fault.position) <= 1;
  return `unexpected text at position ${at}${isSamePosition && fault.hint !== '' ? `: ${fault.hint}` : ''}`;
}
