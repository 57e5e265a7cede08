/**
 * Changes a text as a `diff` block of a document shows it. Lines begin with `-`, `+` or a space, and `@@` begins
 * another hunk. Each hunk is found by its unchanged and removed lines, which the text must have exactly once.
 * @throws Error with the lines that were found more than once, or not at all
 */
export function applyDiff(text: string, diff: string): string {
  const hunks = diff.replace(/\n$/, '').split(/^@@.*\n/m);
  return hunks.reduce((changed, hunk) => applyHunk(changed, hunk.replace(/\n$/, '').split('\n')), text);
}

function applyHunk(text: string, lines: readonly string[]): string {
  const unknown = lines.find((line) => !/^[-+ ]|^$/.test(line));
  if (unknown !== undefined) throw new Error(`a line begins with neither "-", "+" nor a space: ${unknown}`);
  const without = (sign: string): string =>
    lines
      .filter((line) => !line.startsWith(sign))
      .map((line) => `${line.slice(1)}\n`)
      .join('');
  const [before, after] = [without('+'), without('-')];
  const [start = '', ...rest] = `\n${text}`.split(`\n${before}`);
  if (before === '' || rest.length !== 1)
    throw new Error(`found ${before === '' ? 'no line' : `${rest.length} times`} instead of once:\n${before}`);
  return `${start}\n${after}${rest[0]}`.slice(1);
}
