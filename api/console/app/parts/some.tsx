import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { countText } from './formats.js';

const first = 50;

/**
 * The first items of a list that may be long, and a button that shows the others.
 * @param words of the button, such as `models`
 */
export function useSome<Item>(
  items: readonly Item[],
  { words }: { readonly words: string },
): { readonly shown: readonly Item[]; readonly more: ComponentChildren } {
  const [isLong, setLong] = useState(false);
  if (isLong || items.length <= first) return { shown: items, more: null };
  const more = (
    <button type="button" class="button" onClick={() => setLong(true)}>
      Show {countText(items.length - first)} more {words}
    </button>
  );
  return { shown: items.slice(0, first), more };
}
