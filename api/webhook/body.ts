import type { Context } from 'koa';
import { ApiError } from '../../shared/contract/errors.js';
import { boundValues, maxValues, parseJson } from '../request/parse-json.js';
import { bodyText } from '../request/read-body.js';

/** Far above any tool's form. Parsing a field costs about 100 times as much as sending it. */
const maxFormFields = 10_000;

/** Detects JSON that was sent as a form (curl's default). A real form percent-encodes these characters. */
const isJson = /^\s*[[{]/;

/**
 * Parses the body of a webhook: JSON, JSON in text/plain, or a form.
 * @throws ApiError unreadableRequest for another content type or a syntax error; refusedRequest for too many fields or
 * values
 */
export function parseWebhookBody(context: Context, body: Buffer): unknown {
  const type = context.is('application/json', 'application/*+json', 'text/plain', 'application/x-www-form-urlencoded');
  if (type === null) throw new ApiError('unreadableRequest', 'The body is empty: send the fields of one record.');
  const { charset } = context.request;
  if (typeof type !== 'string' || !/^(utf-?8|us-ascii)?$/i.test(charset)) {
    throw new ApiError(
      'unreadableRequest',
      'Send the record as application/json, application/x-www-form-urlencoded, or JSON in text/plain, in ' + 'UTF-8.',
    );
  }
  const text = bodyText(body);
  if (type === 'application/x-www-form-urlencoded' && !isJson.test(text)) return parseForm(text);
  boundValues(body, { max: maxValues.ofRecord, advice: 'send the fields of one record' });
  return parseJson(text);
}

/** Parses a form. A repeated name becomes an array, because multi-selects repeat their name. */
function parseForm(text: string): unknown {
  if (text.trim() === '') throw new ApiError('unreadableRequest', 'The form is empty: send the fields of one record.');
  const pairs = text.split('&', maxFormFields + 1);
  if (pairs.length > maxFormFields) {
    throw new ApiError('refusedRequest', `The form has more than ${maxFormFields} fields.`);
  }
  const members = new Map<string, string | string[]>();
  for (const pair of pairs) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decoded(equals === -1 ? pair : pair.slice(0, equals));
    const value = equals === -1 ? '' : decoded(pair.slice(equals + 1));
    const before = members.get(name);
    if (before === undefined) members.set(name, value);
    else if (typeof before === 'string') members.set(name, [before, value]);
    else before.push(value);
  }
  if ([...members.keys()].some((name) => name.includes('\0'))) {
    throw new ApiError('unreadableRequest', 'A name in the form contains a NUL character.');
  }
  return Object.fromEntries([...members]);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new ApiError('unreadableRequest', 'The form is not percent-encoded UTF-8.');
  }
}
