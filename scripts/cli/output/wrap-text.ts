/** Breaks a text at spaces into lines of at most `width` characters. A longer word stays whole; line ends stay. */
export function wrapText(text: string, width: number): string {
  const lines = text.split('\n').flatMap((line) => fillLines(line.split(' '), { width, joint: ' ' }));
  return lines.join('\n');
}

/**
 * Breaks compact JSON between members and elements, at 80 columns.
 * @param layout.label before the first line
 * @param layout.indent before the other lines; as wide as the label by default
 */
export function wrapJson(
  json: string,
  { label, indent = ' '.repeat(label.length) }: { readonly label: string; readonly indent?: string },
): string {
  const [first = '', ...others] = json.split(/(?<=,)(?=["{])/);
  const lines = fillLines([label + first, ...others], { width: 80 - indent.length, joint: '' });
  return lines.join(`\n${indent}`);
}

/** Puts as many pieces on each line as fit, with a joint between them. Longer pieces stay whole. */
export function fillLines(
  pieces: readonly string[],
  { width, joint }: { readonly width: number; readonly joint: string },
): string[] {
  const lines: string[] = [];
  for (const piece of pieces) {
    const last = lines.at(-1);
    const joined = last === undefined || last === '' ? piece : last + joint + piece;
    if (last !== undefined && (last === '' || joined.length <= width)) lines[lines.length - 1] = joined;
    else lines.push(piece);
  }
  return lines;
}
