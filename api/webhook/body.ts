import type { Context } from 'koa';
import { ApiError } from '../../shared/contract/errors.js';
import { maxValues, parseJsonBody } from '../request/parse-json.js';
import { bodyText, type Yielding } from '../request/receive-call.js';
import { parseForm } from './form.js';

const [plus, space] = [0x2b, 0x20];

/** Detects JSON that was sent as a form (curl's default). A real form percent-encodes these characters. */
const isJson = (text: string): boolean => ['[', '{'].includes(text.trimStart().charAt(0));

/**
 * Parses the body of a webhook: JSON, JSON in text/plain, or a form.
 * @throws ApiError unreadableRequest for another content type or a syntax error; refusedRequest for too many fields or
 * values
 */
export async function parseWebhookBody(context: Context, body: Buffer, turn: Yielding): Promise<unknown> {
  const type = context.is('application/json', 'application/*+json', 'text/plain', 'application/x-www-form-urlencoded');
  if (type === null) throw new ApiError('unreadableRequest', 'The body is empty: send the fields of one record.');
  const { charset } = context.request;
  if (typeof type !== 'string' || !/^(utf-?8|us-ascii)?$/i.test(charset)) {
    throw new ApiError(
      'unreadableRequest',
      'Send the record as application/json, application/x-www-form-urlencoded, or JSON in text/plain, in UTF-8.',
    );
  }
  if (type === 'application/x-www-form-urlencoded' && !isJson(await bodyText(body, turn))) {
    return parseForm(await bodyText(withSpaces(body), turn));
  }
  return await parseJsonBody(body, { max: maxValues.ofRecord, advice: 'send the fields of one record' }, turn);
}

/** Replaces each plus sign by the space that it stands for in a form. `replaceAll` takes 100 ms per MB of plus signs. */
function withSpaces(body: Buffer): Buffer {
  const spaced = Buffer.from(body);
  for (let at = 0; at < spaced.length; at += 1) if (spaced[at] === plus) spaced[at] = space;
  return spaced;
}
