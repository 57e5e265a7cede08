import { render } from 'preact';
import { LocationProvider, useLocation } from 'preact-iso';
import { SignIn } from './pages/sign-in.js';
import { Problem } from './parts/page.js';
import { Refusal } from './server/call.js';
import type { Session } from './server/session.js';
import { useLoad } from './server/use-load.js';
import { Shell } from './shell.js';

/** The sign-in page for people without a session, and the shell with its pages for all others. */
function App() {
  const { path } = useLocation();
  const isSignIn = path === '/login';
  const session = useLoad<Session>(isSignIn ? undefined : '/session');
  if (isSignIn) return <SignIn />;
  if (session.problem instanceof Refusal && session.problem.status === 401) return <SignIn />;
  if (session.problem)
    return (
      <main class="sign-in">
        <Problem problem={session.problem} retry={session.reload} />
      </main>
    );
  if (session.data === undefined) return <main class="sign-in" aria-busy="true" />;
  return <Shell session={session.data} />;
}

const root = document.querySelector('#app');
if (root)
  render(
    <LocationProvider>
      <App />
    </LocationProvider>,
    root,
  );
