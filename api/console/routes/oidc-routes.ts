import type Router from '@koa/router';
import type { Context } from 'koa';
import { type SignInContext, signInByOidc } from '../../../shared/admin/people/sign-in.js';
import type { Logger } from '../../../shared/process/logger.js';
import type { OidcAttempt, OidcClient } from '../http/oidc-client.js';
import type { Sessions } from '../http/sessions.js';

export interface OidcRoutesDeps {
  readonly sessions: Sessions;
  readonly signIn: Omit<SignInContext, 'requestId' | 'address'>;
  readonly oidc: OidcClient | undefined;
  readonly logger: Logger;
}

const attemptMs = 10 * 60_000;
const maxQuery = 4_000;
/** Reasons that the sign-in page explains. */
type Problem = 'provider_unavailable' | 'sign_in_failed' | 'email_not_verified' | 'not_invited';

/** Sign-in by an identity provider. A browser navigates here, so each end is a redirection. */
export function addOidcRoutes(router: Router, { sessions, signIn, oidc, logger }: OidcRoutesDeps): void {
  if (oidc === undefined) return;
  const fail = (context: Context, problem: Problem, error?: unknown): void => {
    logger.info({ problem, ...(error === undefined ? {} : { error }) }, 'a sign-in by OIDC failed');
    context.redirect(`/login?problem=${problem}`);
  };

  router.get('/admin/v1/session/oidc', async (context) => {
    const organisationId = new URLSearchParams(context.querystring).get('org');
    try {
      const { url, attempt } = await oidc.begin();
      sessions.setAttempt(context, JSON.stringify({ ...attempt, organisationId }), attemptMs);
      context.redirect(url.href);
    } catch (error) {
      fail(context, 'provider_unavailable', error);
    }
  });

  router.get('/admin/v1/session/oidc/callback', async (context) => {
    const attempt = attemptOf(sessions.takeAttempt(context));
    if (attempt === undefined || context.querystring.length > maxQuery) return fail(context, 'sign_in_failed');
    const finish = () => oidc.finish(context.querystring, attempt).catch(() => undefined);
    // By query and state: a forged reply must not keep the true one from being tried.
    const person = await sessions.attempt(context, `${context.querystring} ${attempt.state}`, finish);
    if (person === undefined) return fail(context, 'sign_in_failed');
    const requestId = String(context.state.requestId);
    const surroundings = { ...signIn, requestId, address: sessions.addressOf(context) };
    const begun = await signInByOidc(surroundings, person, attempt.organisationId);
    if (begun === undefined) return fail(context, person.verifiedEmail ? 'not_invited' : 'email_not_verified');
    sessions.setCookie(context, begun.secret, begun.session);
    context.redirect('/');
  });
}

/** The attempt that a cookie holds; undefined for a cookie of another form. */
function attemptOf(text: string | undefined): (OidcAttempt & { readonly organisationId?: string }) | undefined {
  try {
    const { state, nonce, verifier, organisationId } = JSON.parse(text ?? '');
    if (![state, nonce, verifier].every((each) => typeof each === 'string' && each !== '')) return undefined;
    return { state, nonce, verifier, ...(typeof organisationId === 'string' ? { organisationId } : {}) };
  } catch {
    return undefined;
  }
}
