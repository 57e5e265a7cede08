const candidates = [',', ';', '\t', '|'] as const;
const longestHeader = 1024 * 1024;

/** A text that has been looked into: what was found, and all of it again from the beginning. */
export interface Peeked {
  readonly delimiter: string;
  texts(): AsyncGenerator<string>;
}

/**
 * Finds out what separates a CSV's cells: whichever of comma, semicolon, tab and bar is most frequent in the header,
 * outside of quotes; comma where there is none.
 */
export async function peekDelimiter(texts: AsyncGenerator<string>): Promise<Peeked> {
  let seen = '';
  let header: string | undefined;
  while (header === undefined && seen.length < longestHeader) {
    const next = await texts.next();
    if (next.done === true) break;
    seen += next.value;
    header = firstLine(seen);
  }
  const unquoted = (header ?? seen).replace(/"[^"]*"/g, '');
  const count = (candidate: string) => unquoted.split(candidate).length - 1;
  const [delimiter] = [...candidates].sort((one, other) => count(other) - count(one));
  return {
    delimiter: delimiter ?? ',',
    async *texts() {
      yield seen;
      yield* texts;
    },
  };
}

/** The first line that is not blank; line ends within quotes belong to it. Undefined while it has not ended. */
function firstLine(text: string): string | undefined {
  const start = text.search(/[^\r\n]/);
  let quoted = false;
  for (let index = Math.max(0, start); index < text.length; index += 1) {
    const character = text[index];
    if (character === '"') quoted = !quoted;
    else if (!quoted && (character === '\n' || character === '\r')) return text.slice(start, index);
  }
  return undefined;
}
