/** A fenced block of a Markdown document. */
export interface MarkdownBlock {
  /** The word after the opening fence: `bash`, `json`, ... */
  readonly language: string;
  readonly text: string;
  /** The nearest heading above the block. */
  readonly heading: string;
  /** Number of the first line inside the fence, from 1. */
  readonly line: number;
}

/** The fenced blocks of a Markdown text, in document order. */
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

/** Pairs each block of the given languages with the next block, which shows its result. */
export function blocksWithResult(
  markdown: string,
  languages: readonly string[],
): readonly { readonly block: MarkdownBlock; readonly result: MarkdownBlock }[] {
  const blocks = markdownBlocks(markdown);
  return blocks.flatMap((block, index) => {
    if (!languages.includes(block.language)) return [];
    const result = blocks[index + 1];
    if (result === undefined) throw new Error(`the block in line ${block.line} has no result block after it`);
    return [{ block, result }];
  });
}

/**
 * The shape of a JSON value: its member names with their types. A list has the sorted, distinct shapes of its elements.
 */
export function jsonForm(value: unknown): unknown {
  if (Array.isArray(value)) return [...new Set(value.map((item) => JSON.stringify(jsonForm(item))))].sort();
  if (typeof value !== 'object' || value === null) return typeof value;
  const members = Object.entries(value).map(([name, member]): [string, unknown] => [name, jsonForm(member)]);
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)));
}
