import type { Context } from 'koa';
import { ApiError } from '../shared/errors.js';

/**
 * Makes sure that a body is sent as JSON.
 * @throws ApiError unreadableRequest for any other content type or charset, and where there is no body
 */
export function requireJson(context: Context): void {
  const type = context.is('application/json');
  if (type === null) throw new ApiError('unreadableRequest', 'The body is empty: send a JSON object.');
  if (type === 'application/json' && /^(utf-?8)?$/i.test(context.request.charset)) return;
  throw new ApiError('unreadableRequest', 'Send JSON: the Content-Type must be application/json, in UTF-8.');
}
