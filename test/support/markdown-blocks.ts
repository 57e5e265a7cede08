/** A fenced block of a Markdown document. */
export interface MarkdownBlock {
  /** What stands after the fence: `bash`, `json`, ... */
  readonly language: string;
  readonly text: string;
  /** The heading under which it stands. */
  readonly heading: string;
  /** Of its first line, from 1. */
  readonly line: number;
}

/** The fenced blocks of a Markdown text, in their order. */
export function markdownBlocks(markdown: string): readonly MarkdownBlock[] {
  const blocks: MarkdownBlock[] = [];
  let heading = '';
  let open: { language: string; lines: string[]; line: number } | undefined;
  for (const [index, line] of markdown.split('\n').entries()) {
    const fence = /^```(\w*)$/.exec(line);
    if (open === undefined && fence !== null) open = { language: fence[1] ?? '', lines: [], line: index + 2 };
    else if (open !== undefined && fence !== null) {
      blocks.push({ language: open.language, text: `${open.lines.join('\n')}\n`, heading, line: open.line });
      open = undefined;
    } else if (open !== undefined) open.lines.push(line);
    else if (line.startsWith('#')) heading = line.replace(/^#+ /, '');
  }
  return blocks;
}

/** Each block of one of these languages with the block that follows it: what it gives. */
export function blocksWithResult(
  markdown: string,
  languages: readonly string[],
): readonly { readonly block: MarkdownBlock; readonly result: MarkdownBlock }[] {
  const blocks = markdownBlocks(markdown);
  return blocks.flatMap((block, index) => {
    if (!languages.includes(block.language)) return [];
    const result = blocks[index + 1];
    if (result === undefined) throw new Error(`what the block in line ${block.line} gives is not shown`);
    return [{ block, result }];
  });
}

/**
 * The form of a JSON value: names and kinds of its members, without the values. A list has the forms that its elements
 * have.
 */
export function jsonForm(value: unknown): unknown {
  if (Array.isArray(value)) return [...new Set(value.map((item) => JSON.stringify(jsonForm(item))))].sort();
  if (typeof value !== 'object' || value === null) return typeof value;
  const members = Object.entries(value).map(([name, member]): [string, unknown] => [name, jsonForm(member)]);
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)));
}
