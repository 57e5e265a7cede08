import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';

/** Elements that a person can use at once. */
const usable = 'button:not(:disabled), a[href], input, select, textarea';
/** Parts of a page that load later may still move an element for so long. */
const settleMs = 3_000;

/**
 * Shows the element that the address names after `#`, and moves the focus to its first control. It waits until the page
 * has loaded the element, and ends when the person does something else.
 */
export function useAim(): void {
  const { url } = useLocation();
  useEffect(() => {
    const id = idOf(url);
    if (id === '') return;
    const stop = new AbortController();
    const { signal } = stop;
    let aimed: HTMLElement | undefined;
    const aim = () => {
      const element = document.getElementById(id);
      if (signal.aborted || element === null) return;
      if (element !== aimed) {
        if (aimed === undefined) setTimeout(() => stop.abort(), settleMs);
        aimed = element;
        mark(element);
      }
      element.scrollIntoView({ block: 'center' });
    };
    const observer = new MutationObserver(aim);
    signal.addEventListener('abort', () => observer.disconnect());
    for (const event of ['pointerdown', 'keydown', 'wheel'])
      addEventListener(event, () => stop.abort(), { signal, capture: true, passive: true });
    // The effects of the page come first: they move the focus to its title.
    const begun = setTimeout(() => {
      aim();
      observer.observe(document.body, { childList: true, subtree: true });
    });
    return () => {
      clearTimeout(begun);
      stop.abort();
    };
  }, [url]);
}

/** The address of a link has its part after `#`; after "Back" only that of the browser has it. */
function idOf(url: string): string {
  try {
    return decodeURIComponent((new URL(url, location.origin).hash || location.hash).slice(1));
  } catch {
    return ''; // not UTF-8
  }
}

function mark(element: HTMLElement): void {
  for (const other of document.querySelectorAll('.aimed')) other.classList.remove('aimed');
  element.classList.add('aimed');
  const control = element.matches(usable) ? element : element.querySelector<HTMLElement>(usable);
  if (control === null) element.tabIndex = -1;
  (control ?? element).focus({ preventScroll: true });
}
