import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import type { linkPreviewOutput, waysOutput } from '../../../../shared/admin/schemas/people.js';
import type { ShapeOf } from '../../../../shared/contract/schema.js';
import { Problem } from '../parts/page.js';
import { call } from '../server/call.js';
import { rememberedPage, rememberPage } from '../server/last-page.js';
import { tellOtherTabs } from '../server/other-tabs.js';
import { useLoad } from '../server/use-load.js';

/** Why a sign-in by an identity provider ended here. */
const problems: Readonly<Record<string, string>> = {
  provider_unavailable: 'The identity provider does not answer. Try again in a minute, or ask for a one-time link.',
  sign_in_failed: 'The sign-in was not completed. Start it again here.',
  email_not_verified: 'The identity provider has not verified your e-mail address. Verify it there, then try again.',
  not_invited: 'Your e-mail address has no invitation. Ask an owner of your organisation to add you as a member.',
};

/** The text after `#` of the address, also of one that is opened later in the same tab: that loads no new page. */
function useHash(): string {
  const [hash, setHash] = useState(() => location.hash);
  useLayoutEffect(() => {
    const read = () => setHash(location.hash);
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return hash.slice(1);
}

/** Asks before it uses a one-time link, so that programs that open links do not use them up. */
export function SignIn() {
  const link = useHash();
  const ended = problems[new URLSearchParams(location.search).get('problem') ?? ''];
  const ways = useLoad<ShapeOf<typeof waysOutput>>('/session/ways');
  const [preview, setPreview] = useState<ShapeOf<typeof linkPreviewOutput>>();
  const [problem, setProblem] = useState<Error>();
  useLayoutEffect(rememberPage, []);
  useEffect(() => {
    document.title = 'Sign in – Leadscore';
    let isCurrent = true; // a slow reply for an earlier link must not replace that of a later one
    setPreview(undefined);
    setProblem(undefined);
    if (link !== '')
      call<ShapeOf<typeof linkPreviewOutput>>('POST', '/session/preview', { link }).then(
        (found) => isCurrent && setPreview(found),
        (error) => isCurrent && setProblem(error),
      );
    return () => {
      isCurrent = false;
    };
  }, [link]);
  const signIn = () =>
    call('POST', '/session', { link }).then(() => {
      // They show what the person before may see, and would act as this one.
      tellOtherTabs();
      location.replace(location.origin + rememberedPage());
    }, setProblem);
  return (
    <main class="sign-in">
      <section class="card">
        <h1>{preview ? `Sign in as ${preview.person}?` : 'Sign in to Leadscore'}</h1>
        {preview && (
          <>
            <p>
              Role {preview.role}
              {preview.organisation_name && ` in ${preview.organisation_name}`}. The link works once.
            </p>
            <button type="button" class="button main" onClick={signIn}>
              Sign in
            </button>
          </>
        )}
        {problem && <Problem problem={problem} />}
        {ended && link === '' && (
          <p class="note bad" role="alert">
            {ended}
          </p>
        )}
        {link === '' && (
          <p>Open your one-time link. An owner of your organisation or the operator can make a new one.</p>
        )}
        {/* With a target, the router leaves the link to the browser. */}
        {ways.data?.oidc && (
          <a class="button" href={`/admin/v1/session/oidc?page=${encodeURIComponent(rememberedPage())}`} target="_top">
            Sign in with your company account
          </a>
        )}
      </section>
    </main>
  );
}
