import type { FunctionComponent } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { Problem } from './page.js';

/** A page whose code the browser loads when it is needed first. */
export interface LaterPage {
  readonly component: FunctionComponent;
  /** Loads the code before the page is opened. */
  readonly preload: () => void;
}

/** In the storage of the tab: the page for which the console was loaded again. */
const reloadedFor = 'reloaded-for';

export function later(load: () => Promise<FunctionComponent>): LaterPage {
  let loaded: FunctionComponent | undefined;
  let loading: Promise<void> | undefined;
  const begin = () => {
    loading ??= load().then(
      (page) => {
        loaded = page;
        sessionStorage.removeItem(reloadedFor);
      },
      (error: unknown) => {
        loading = undefined;
        throw error;
      },
    );
    return loading;
  };
  function Later() {
    const [isLoaded, setLoaded] = useState(loaded !== undefined);
    const [problem, setProblem] = useState<Error>();
    const open = () => {
      setProblem(undefined);
      begin().then(
        () => setLoaded(true),
        () => reloadOnce().then(setProblem),
      );
    };
    useLayoutEffect(() => {
      if (!isLoaded) open();
    }, []);
    if (problem) return <Problem problem={problem} retry={open} />;
    if (isLoaded && loaded !== undefined) return <Focused page={loaded} />;
    return (
      <p class="card soft" role="status">
        Loading…
      </p>
    );
  }
  return { component: Later, preload: () => void begin().catch(() => {}) };
}

/**
 * After an upgrade the console has the scripts of the new release alone. So a page whose script is missing is loaded
 * again as a whole, once.
 * @returns why it is not loaded again; never resolves if it is
 */
async function reloadOnce(): Promise<Error> {
  // Without a network nothing but this page would be left.
  const answer = await fetch(location.pathname, { method: 'HEAD', cache: 'no-store' }).catch(() => undefined);
  if (answer?.ok !== true)
    return new Error('The page did not load, because the console does not answer. Check the network and try again.');
  if (sessionStorage.getItem(reloadedFor) === location.pathname)
    return new Error('The page did not load, and loading the console again did not help. Ask the operator.');
  sessionStorage.setItem(reloadedFor, location.pathname);
  location.reload();
  return await new Promise(() => {});
}

/** The shell moves the focus to the title of a new page. The title was not there yet, so `main` has it. */
function Focused({ page: Opened }: { readonly page: FunctionComponent }) {
  useLayoutEffect(() => {
    if (document.activeElement?.matches('main')) document.querySelector<HTMLElement>('main h1')?.focus();
  }, []);
  return <Opened />;
}
