import type { Context, Middleware } from 'koa';
import { ApiError } from '../../../shared/contract/errors.js';

const sunset = 'Mon, 19 Oct 2026 00:00:00 GMT';

/** The unversioned aliases, and what each is an alias of. */
const successorOf = { '/score': '/v1/score', '/webhooks/score': '/v1/webhooks/score' } as const;
export type Alias = keyof typeof successorOf;

/** Whether a route's path is that of an alias. */
export const isAlias = (path: unknown): path is Alias =>
  typeof path === 'string' && Object.hasOwn(successorOf, path);

/**
 * Marks the reply of an unversioned alias, errors too, as deprecated (RFC 8594 and 9745's draft form), and names its
 * successor.
 * @throws ApiError gone where aliases have been switched off
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

/** Marks every reply of an alias; in front of its route. */
export function deprecatedAlias(alias: Alias, aliases: 'serve' | 'gone'): Middleware {
  return async (context, next) => {
    markDeprecated(context, alias, aliases);
    await next();
  };
}
