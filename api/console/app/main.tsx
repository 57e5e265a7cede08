import { render } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { LocationProvider, useLocation } from 'preact-iso';
import { SignIn } from './pages/sign-in.js';
import { preloadPage } from './pages.js';
import { Problem } from './parts/page.js';
import { call, Refusal } from './server/call.js';
import { onSessionChange, tellOtherTabs } from './server/other-tabs.js';
import type { Session } from './server/session.js';
import { useLoad } from './server/use-load.js';
import { Shell } from './shell.js';

/** The sign-in page for people without a session, and the shell with its pages for all others. */
function App() {
  const { path } = useLocation();
  const isSignIn = path === '/login';
  const session = useLoad<Session>(isSignIn ? undefined : '/session');
  const [isLeaving, setLeaving] = useState(false);
  if (isSignIn) return <SignIn />;
  if (session.problem instanceof Refusal && session.problem.status === 401) return <SignIn />;
  if (session.problem)
    return (
      <main class="sign-in">
        <Problem problem={session.problem} retry={session.reload} />
      </main>
    );
  if (session.data === undefined) return <main class="sign-in" aria-busy="true" />;
  if (isLeaving) return <SignOut />;
  return <Shell session={session.data} signOut={() => setLeaving(true)} />;
}

/** Ends the session. Nothing of the page before is in the document any more. */
function SignOut() {
  const [problem, setProblem] = useState<Error>();
  const end = async () => {
    setProblem(undefined);
    try {
      await call('DELETE', '/session');
    } catch (error) {
      const isGone = error instanceof Refusal && error.status === 401;
      if (!isGone) return setProblem(error as Error);
    }
    tellOtherTabs();
    location.replace('/login');
  };
  useLayoutEffect(() => void end(), []);
  return (
    <main class="sign-in" aria-busy={problem === undefined}>
      {problem && (
        <section class="card">
          <h1>The sign-out is not confirmed</h1>
          <Problem problem={problem} retry={end} />
        </section>
      )}
    </main>
  );
}

// While the console says who is signed in.
preloadPage(location.pathname);

const root = document.querySelector('#app');
const title = document.title;

function open(): void {
  if (root)
    render(
      <LocationProvider>
        <App />
      </LocationProvider>,
      root,
    );
}

function empty(): void {
  if (root) render(null, root);
  document.title = title;
}

// The browser may keep a page for the button "Back", also beyond the sign-out, with all that it shows.
addEventListener('pagehide', ({ persisted }) => persisted && empty());
addEventListener('pageshow', ({ persisted }) => persisted && open());
onSessionChange(() => {
  empty();
  open();
});
open();
