import type { Context, Middleware } from 'koa';
import { ApiError } from '../../../shared/contract/errors.js';

const sunset = 'Mon, 19 Oct 2026 00:00:00 GMT';

/** The unversioned aliases and their successors. */
const successorOf = { '/score': '/v1/score', '/webhooks/score': '/v1/webhooks/score' } as const;
export type Alias = keyof typeof successorOf;

export const isAlias = (path: unknown): path is Alias => typeof path === 'string' && Object.hasOwn(successorOf, path);

/**
 * Marks a reply of an alias as deprecated (RFC 8594 and the draft form of RFC 9745) and names the successor.
 * @throws ApiError gone if aliases are switched off
 */
export function markDeprecated(context: Context, alias: Alias, aliases: 'serve' | 'gone'): void {
  const successor = successorOf[alias];
  context.set('Deprecation', 'true');
  context.set('Sunset', sunset);
  context.set('Link', `<${successor}>; rel="successor-version"`);
  if (aliases === 'gone') {
    throw new ApiError('gone', `This alias has been switched off: send the call to ${successor}.`);
  }
}

/** Middleware before the route of an alias. Marks every reply, errors too. */
export function deprecatedAlias(alias: Alias, aliases: 'serve' | 'gone'): Middleware {
  return async (context, next) => {
    markDeprecated(context, alias, aliases);
    await next();
  };
}
