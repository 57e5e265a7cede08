/**
 * Breaks a paragraph at its spaces into lines of at most so many characters; longer words stay whole.
 * @param options.indent stands before every line, and counts
 */
export function wrappedText(
  text: string,
  { width = 80, indent = '' }: { readonly width?: number; readonly indent?: string } = {},
): string {
  return filledLines(text.split(' '), { width: width - indent.length, joint: ' ' })
    .map((line) => indent + line)
    .join('\n');
}

/**
 * Breaks compact JSON (no spaces after commas) between members and elements.
 * @param options.label stands before the first line
 * @param options.indent stands before the others; spaces as wide as the label when left out
 */
export function wrappedJson(
  json: string,
  { label, indent = ' '.repeat(label.length) }: { readonly label: string; readonly indent?: string },
): string {
  const [first = '', ...others] = json.split(/(?<=,)(?=["{])/);
  const lines = filledLines([label + first, ...others], { width: 80 - indent.length, joint: '' });
  return lines.join(`\n${indent}`);
}

/** Puts as many pieces on each line as fit, with a joint between them. */
export function filledLines(
  pieces: readonly string[],
  { width, joint }: { readonly width: number; readonly joint: string },
): string[] {
  const lines: string[] = [];
  for (const piece of pieces) {
    const last = lines.at(-1);
    const joined = last === undefined ? undefined : last + joint + piece;
    if (joined !== undefined && joined.length <= width) lines[lines.length - 1] = joined;
    else lines.push(piece);
  }
  return lines;
}
