import type { Middleware } from 'koa';
import { AdminError } from '../../../shared/admin/admin-error.js';

const policy = [
  "default-src 'none'",
  ...['script-src', 'style-src', 'font-src', 'connect-src'].map((kind) => `${kind} 'self'`),
  "img-src 'self' data:",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** Headers that keep a browser from running, framing or remembering anything else. On every reply. */
export function securityHeaders({ isHttps }: { readonly isHttps: boolean }): Middleware {
  return async (context, next) => {
    context.set({
      'Content-Security-Policy': policy,
      'X-Content-Type-Options': 'nosniff',
      'X-Frame-Options': 'DENY',
      'Referrer-Policy': 'no-referrer',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Resource-Policy': 'same-origin',
      'Cache-Control': 'no-store',
      ...(isHttps ? { 'Strict-Transport-Security': 'max-age=31536000' } : {}),
    });
    await next();
  };
}

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses requests that another site makes with the cookie of a person. Lax cookies are not enough: another port of the
 * same host is the same site. A request with a token needs no check, because no browser adds the token by itself.
 * @param ownOrigin where people open the console
 * @throws (the middleware) AdminError cross_site
 */
export function sameOriginOnly(ownOrigin: string): Middleware {
  return async (context, next) => {
    const fetchSite = context.get('sec-fetch-site');
    const isOwn = fetchSite === '' ? context.get('origin') === ownOrigin : fetchSite === 'same-origin';
    if (!isOwn && !safeMethods.has(context.method) && context.get('authorization') === '') throw crossSite();
    await next();
  };
}

const crossSite = (): AdminError =>
  new AdminError('cross_site', 'This request came from another site. Open the console itself and try again.');
