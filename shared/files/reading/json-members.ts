/** A member of a JSON object, as it is written. */
interface WrittenMember {
  readonly name: string;
  /** Positions of its key, and of its value. */
  readonly start: number;
  readonly valueStart: number;
  readonly end: number;
}

/**
 * The members of a JSON object in the order of its text. JSON.parse would round large numbers.
 * @param text of an object that JSON.parse accepts
 */
function writtenMembers(text: string): WrittenMember[] {
  const members: WrittenMember[] = [];
  let at = text.indexOf('{') + 1;
  for (;;) {
    at = afterSpace(text, at);
    if (text[at] !== '"') return members;
    const start = at;
    at = stringEnd(text, at);
    const name = JSON.parse(text.slice(start, at)) as string;
    const valueStart = afterSpace(text, afterSpace(text, at) + 1);
    const end = valueEnd(text, valueStart);
    members.push({ name, start, valueStart, end });
    at = afterSpace(text, end) + 1;
  }
}

/** The text of the last member of a name, which is the one that JSON.parse takes. */
export function memberText(text: string, name: string): string | undefined {
  const member = writtenMembers(text).findLast((each) => each.name === name);
  return member === undefined ? undefined : text.slice(member.valueStart, member.end);
}

function afterSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) <= 0x20) at += 1;
  return at;
}

/** The position after the quote that closes a string. */
function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function valueEnd(text: string, start: number): number {
  let at = start;
  for (let depth = 0; at < text.length; ) {
    const character = text[at] as string;
    if (character === '"') {
      at = stringEnd(text, at);
      continue;
    }
    if (depth === 0 && (character <= ' ' || character === ',' || character === '}')) return at;
    if (character === '{' || character === '[') depth += 1;
    if (character === '}' || character === ']') depth -= 1;
    at += 1;
  }
  return at;
}
