import type { Middleware } from 'koa';
import { ApiError } from '../../shared/errors.js';

const sunset = 'Mon, 19 Oct 2026 00:00:00 GMT';

/**
 * Marks the replies of an unversioned alias, errors too, as deprecated (RFC 8594 and 9745's draft form), and names its
 * successor; or answers 410 where aliases have been switched off.
 */
export function deprecatedAlias(successor: string, aliases: 'serve' | 'gone'): Middleware {
  return async (context, next) => {
    context.set('Deprecation', 'true');
    context.set('Sunset', sunset);
    context.set('Link', `<${successor}>; rel="successor-version"`);
    if (aliases === 'gone') {
      throw new ApiError('gone', `This alias has been switched off: send the call to ${successor}.`);
    }
    await next();
  };
}
