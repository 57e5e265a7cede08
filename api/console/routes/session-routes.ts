import type Router from '@koa/router';
import type { Context } from 'koa';
import {
  linkInvalid,
  previewLink,
  type SignInContext,
  sessionDocument,
  signInByLink,
} from '../../../shared/admin/people/sign-in.js';
import { checkedInput } from '../../../shared/admin/run-action.js';
import { signInInput } from '../../../shared/admin/schemas/people.js';
import type { ShapeOf } from '../../../shared/contract/schema.js';
import { bodyOf, jsonBody } from '../http/json.js';
import type { OidcClient } from '../http/oidc-client.js';
import { type Sessions, sessionOf } from '../http/sessions.js';

export interface SessionRoutesDeps {
  readonly sessions: Sessions;
  readonly signIn: Omit<SignInContext, 'requestId' | 'address'>;
  readonly oidc: OidcClient | undefined;
}

/** Sign-in, sign-out, and who is signed in. */
export function addSessionRoutes(router: Router, { sessions, signIn, oidc }: SessionRoutesDeps): void {
  const contextOf = (context: Context): SignInContext => ({
    ...signIn,
    requestId: String(context.state.requestId),
    address: sessions.addressOf(context),
  });
  const linkOf = (context: Context): string =>
    checkedInput<ShapeOf<typeof signInInput>>(signInInput, bodyOf(context)).link;

  router.get('/admin/v1/session/ways', (context) => {
    context.body = { oidc: oidc !== undefined };
  });
  router.post('/admin/v1/session/preview', jsonBody(), async (context) => {
    const link = linkOf(context);
    const found = await sessions.attempt(context, link, () => previewLink(contextOf(context), link));
    if (found === undefined) throw linkInvalid();
    context.body = found;
  });
  router.post('/admin/v1/session', jsonBody(), async (context) => {
    const link = linkOf(context);
    const begun = await sessions.attempt(context, link, () => signInByLink(contextOf(context), link));
    if (begun === undefined) throw linkInvalid();
    sessions.setCookie(context, begun.secret, begun.session);
    context.body = await sessionDocument(signIn, begun.session);
  });
  router.get('/admin/v1/session', sessions.required(), async (context) => {
    context.body = await sessionDocument(signIn, sessionOf(context));
  });
  router.delete('/admin/v1/session', sessions.required(), async (context) => {
    await sessions.end(context);
    // Pages that the browser keeps for the button "Back". `"cookies"` would end the sessions of sibling hosts.
    context.set('Clear-Site-Data', '"cache"');
    context.body = {};
  });
}
