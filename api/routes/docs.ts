import type { Middleware } from 'koa';
import type { Page } from '../docs-pages/page-frame.js';
import { once, preparedTextRoute } from './prepared-text.js';

/**
 * Serves a page of the documentation: complete in itself, to anybody.
 * @param page makes the page, once
 */
export function docsRoute(page: () => Page): Middleware {
  const made = once(page);
  const send = preparedTextRoute(() => ({
    contentType: 'text/html; charset=utf-8',
    text: made().html,
    headers: { 'Content-Security-Policy': made().contentSecurityPolicy, 'Referrer-Policy': 'no-referrer' },
  }));
  return async (context, next) => {
    // The page's links are relative to its address without a slash at the end.
    if (context.path.endsWith('/')) {
      context.status = 308;
      context.redirect(`../${context.path.split('/').at(-2)}`);
      return;
    }
    await send(context, next);
  };
}
