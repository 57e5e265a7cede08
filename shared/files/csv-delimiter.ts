const candidates = [',', ';', '\t', '|'] as const;

/**
 * Detects the delimiter: the candidate that is most frequent in the header outside quotes, or a comma.
 * @param header see `firstLine`
 */
export function delimiterOf(header: string): string {
  const unquoted = header.replace(/"[^"]*"/g, '');
  const count = (candidate: string) => unquoted.split(candidate).length - 1;
  const [delimiter] = [...candidates].sort((one, other) => count(other) - count(one));
  return delimiter ?? ',';
}

/** The first non-blank line, including quoted line breaks. Undefined if the line end has not been read yet. */
export function firstLine(text: string): string | undefined {
  const start = text.search(/[^\r\n]/);
  let quoted = false;
  for (let index = Math.max(0, start); index < text.length; index += 1) {
    const character = text[index];
    if (character === '"') quoted = !quoted;
    else if (!quoted && (character === '\n' || character === '\r')) return text.slice(start, index);
  }
  return undefined;
}
