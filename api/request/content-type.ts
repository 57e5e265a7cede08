import type { Context } from 'koa';
import { ApiError } from '../../shared/contract/errors.js';

/** Encodings in which ASCII is the same bytes. Others are refused. */
export type BodyEncoding = 'utf-8' | 'windows-1252';

/**
 * Checks that a body is declared as JSON. A declaration as ISO-8859-1 is accepted: most clients that make it send
 * ASCII.
 * @param advice more sentences for a caller that sends something else, each after a space
 * @throws ApiError unreadableRequest for another content type or charset, or without a body
 */
export function requireJson(context: Context, advice = ''): void {
  const type = context.is('application/json', 'text/json');
  if (type === null) throw unreadable('The body is empty: send a JSON object.');
  if (type === false) {
    const found = context.is('multipart') ? ', not multipart/form-data' : ', in UTF-8';
    throw unreadable(`Send JSON: the Content-Type must be application/json${found}.${advice}`);
  }
  declaredEncoding(context);
}

/**
 * The encoding that a Content-Type declares, by the labels of the WHATWG. By these, ISO-8859-1 and US-ASCII are
 * windows-1252.
 * @throws ApiError unreadableRequest for any other encoding
 */
export function declaredEncoding({ request: { charset } }: Context): BodyEncoding {
  const encoding = charset === '' ? 'utf-8' : whatwgName(charset);
  if (encoding === 'utf-8' || encoding === 'windows-1252') return encoding;
  throw unreadable(
    `The Content-Type declares the charset "${charset.slice(0, 40)}": send UTF-8, and declare utf-8 or none.`,
  );
}

function whatwgName(charset: string): string | undefined {
  try {
    return new TextDecoder(charset).encoding;
  } catch {
    return undefined;
  }
}

const unreadable = (message: string): ApiError => new ApiError('unreadableRequest', message);
