import type { Screen } from './screen.js';
import type { TourResult } from './tour-result.js';
import { wrappedJson } from './wrapped-text.js';

/** Shows one call as a line for a shell, and what it was answered with. */
export function showCall(screen: Screen, { call, reply }: Pick<TourResult, 'call' | 'reply'>): void {
  screen.heading('One of the best leads, in one call');
  screen.print(call.curl); // at the margin, so that nothing before it is copied
  screen.print();
  screen.note('answers');
  screen.print();
  screen.print(readableReply(reply));
}

/** An answer with a member on each line; of lists of drivers the first only. */
function readableReply(reply: Readonly<Record<string, unknown>>): string {
  const members = Object.entries(reply).map(([name, value]) => {
    const json = JSON.stringify(value, (key, inner: unknown) =>
      key === 'drivers' && Array.isArray(inner) ? [...inner.slice(0, 1), `… ${inner.length} in all`] : inner,
    );
    return wrappedJson(json, { label: `  ${JSON.stringify(name)}: `, indent: '    ' });
  });
  return `{\n${members.join(',\n')}\n}`;
}
