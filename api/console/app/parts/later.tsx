import type { FunctionComponent } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { Problem } from './page.js';

/** A page whose code the browser loads when the page is opened first. */
export function later(load: () => Promise<FunctionComponent>): FunctionComponent {
  let loaded: FunctionComponent | undefined;
  return function Later() {
    const [isLoaded, setLoaded] = useState(loaded !== undefined);
    const [problem, setProblem] = useState<Error>();
    const begin = () => {
      setProblem(undefined);
      load().then(
        (page) => {
          loaded = page;
          setLoaded(true);
        },
        () => setProblem(new Error('The page did not load. Check the network; after an upgrade, reload the console.')),
      );
    };
    useLayoutEffect(() => {
      if (!isLoaded) begin();
    }, []);
    if (problem) return <Problem problem={problem} retry={begin} />;
    if (isLoaded && loaded !== undefined) return <Focused page={loaded} />;
    return (
      <p class="card soft" role="status">
        Loading…
      </p>
    );
  };
}

/** The shell moves the focus to the title of a new page, which was not there yet. */
function Focused({ page: Opened }: { readonly page: FunctionComponent }) {
  useLayoutEffect(() => {
    if (document.activeElement === document.body) document.querySelector<HTMLElement>('main h1')?.focus();
  }, []);
  return <Opened />;
}
