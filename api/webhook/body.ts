import type { Context } from 'koa';
import { ApiError } from '../../shared/contract/errors.js';
import { type BodyEncoding, declaredEncoding } from '../request/content-type.js';
import { maxValues, parseJsonBody } from '../request/parse-json.js';
import { bodyText } from '../request/read-body.js';
import { inUtf8 } from '../request/windows-1252.js';
import { parseForm } from './form.js';

const formType = 'application/x-www-form-urlencoded';
const [plus, space] = [0x2b, 0x20];

/** Detects JSON that was sent as a form (curl's default). A real form percent-encodes these characters. */
const isJson = (text: string): boolean => ['[', '{'].includes(text.trimStart().charAt(0));

/** How a webhook's body is to be read. */
export interface BodyForm {
  /** Whether it is declared as a form. Else it is JSON. */
  readonly isForm: boolean;
  readonly encoding: BodyEncoding;
}

/**
 * The declared form of a webhook's body: JSON, JSON in text/plain, or a form; in UTF-8 or windows-1252.
 * @throws ApiError unreadableRequest for another content type or charset, or without a body
 */
export function webhookForm(context: Context): BodyForm {
  const type = context.is('application/json', 'application/*+json', 'text/json', 'text/plain', formType);
  if (type === null) throw new ApiError('unreadableRequest', 'The body is empty: send the fields of one record.');
  if (type === false) throw otherType(context.is('multipart') !== false);
  return { isForm: type === formType, encoding: declaredEncoding(context) };
}

/**
 * Parses the body of a webhook.
 * @throws ApiError unreadableRequest for a syntax error; refusedRequest for too many fields or values
 */
export async function parseWebhookBody(body: Buffer, { isForm, encoding }: BodyForm): Promise<unknown> {
  const sent = inUtf8(body, encoding);
  if (isForm && !isJson(await bodyText(sent))) {
    return parseForm(await bodyText(withSpaces(sent)), encoding);
  }
  return await parseJsonBody(sent, { max: maxValues.ofRecord, advice: 'send the fields of one record' });
}

function otherType(isMultipart: boolean): ApiError {
  const advice = isMultipart
    ? 'multipart/form-data is not read: send the same fields as application/json or application/x-www-form-urlencoded.'
    : 'Send the record as application/json, application/x-www-form-urlencoded, or JSON in text/plain, in UTF-8.';
  return new ApiError('unreadableRequest', advice);
}

/**
 * Replaces each plus sign by the space that it stands for in a form. `replaceAll` takes 100 ms per MB of plus signs.
 */
function withSpaces(body: Buffer): Buffer {
  const spaced = Buffer.from(body);
  for (let at = 0; at < spaced.length; at += 1) if (spaced[at] === plus) spaced[at] = space;
  return spaced;
}
