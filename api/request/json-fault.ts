/** What other languages write for values that JSON has not, and what to write instead. */
const foreignWords: Readonly<Record<string, string>> = {
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
/** From its position on, up to what may follow a value. */
const anyWord = /[^\s"{}[\],:]+/y;

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];
const lastBlank = 0x20;

export interface JsonFault {
  /** Of its first character, from 0. */
  readonly position: number;
  /** What is wrong there, in words that repeat nothing of the text but a foreign word; empty where it is not known. */
  readonly what: string;
}

/**
 * The first fault in a text that JSON.parse has refused without saying where: a word that JSON has not, or a comma or a
 * bracket in the place of a value, as templates leave it where a field is empty. It tells nothing of other faults, and
 * takes some ten milliseconds a megabyte.
 */
export function jsonFault(text: string): JsonFault | undefined {
  let isInText = false;
  let before = 0;
  for (let position = 0; position < text.length; position += 1) {
    const code = text.charCodeAt(position);
    if (code === quote) isInText = !isInText;
    else if (isInText) {
      if (code === backslash) position += 1;
      continue;
    } else if (code <= lastBlank) continue;
    else if (code === comma || code === closeList || code === closeObject) {
      if (isValueDue(before, code))
        return { position, what: before === colon ? 'there is no value after the colon' : '' };
    } else if (code !== colon && code !== openList && code !== openObject) {
      anyWord.lastIndex = position;
      const word = anyWord.exec(text)?.[0] ?? '';
      if (!jsonWord.test(word)) return { position, what: whatIsWrong(word) };
      position += word.length - 1;
    }
    before = code;
  }
  return undefined;
}

/** Whether a comma or a closing bracket stands where a value must: `[]` and `{}` are the only places without one. */
const isValueDue = (before: number, code: number): boolean =>
  before === colon || before === comma || (code === comma && (before === openList || before === openObject));

function whatIsWrong(word: string): string {
  const instead = Object.hasOwn(foreignWords, word) ? foreignWords[word] : undefined;
  return instead === undefined ? '' : `${word} is not JSON, write ${instead}`;
}
