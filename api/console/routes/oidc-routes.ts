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
/** A longer address does not fit into a cookie beside the secrets. */
const maxPage = 1_000;
type Attempt = OidcAttempt & { readonly organisationId?: string; readonly page: unknown };
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
    const query = new URLSearchParams(context.querystring);
    const [organisationId, page] = [query.get('org'), pageOf(query.get('page'))];
    try {
      const { url, attempt } = await oidc.begin();
      sessions.setAttempt(context, JSON.stringify({ ...attempt, organisationId, page }), attemptMs);
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
    context.redirect(pageOf(attempt.page));
  });
}

/** The address of a page of the console on which a sign-in ends; `/` for any other text, such as another host. */
function pageOf(text: unknown): string {
  const here = 'https://console.invalid';
  if (typeof text !== 'string' || text.length > maxPage || !URL.canParse(text, here)) return '/';
  const { origin, pathname, search } = new URL(text, here);
  const isPage = origin === here && !pathname.startsWith('//') && !/^\/(admin|login)(\/|$)/.test(pathname);
  return isPage ? `${pathname}${search}` : '/';
}

/** The attempt that a cookie holds; undefined for a cookie of another form. */
function attemptOf(text: string | undefined): Attempt | undefined {
  try {
    const { state, nonce, verifier, organisationId, page } = JSON.parse(text ?? '');
    if (![state, nonce, verifier].every((each) => typeof each === 'string' && each !== '')) return undefined;
    return { state, nonce, verifier, page, ...(typeof organisationId === 'string' ? { organisationId } : {}) };
  } catch {
    return undefined;
  }
}
