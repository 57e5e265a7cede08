import type { Context } from 'koa';
import { ApiError } from '../../../../shared/contract/errors.js';

const tusVersion = '1.0.0';
/** The Content-Types of a file, and of a piece of one. */
export const fileType = 'application/octet-stream';
export const patchType = 'application/offset+octet-stream';

/** The types of forms. `curl -F` adds a boundary to every other type that its caller names. */
const formType = /^\s*(?:multipart\/|application\/x-www-form-urlencoded)|;\s*boundary=/i;

/** Whether a call says that its body is a form, as `curl -F` and `curl -d` do. */
export const isForm = (context: Context): boolean => formType.test(context.get('content-type'));

/**
 * Refuses a form before its body is read. Its boundaries would be read as rows, and `curl -d` removes line breaks.
 * @param type a Content-Type that the call takes
 */
export function refuseForm(context: Context, type: string): void {
  if (!isForm(context)) return;
  throw unreadable(
    `The Content-Type ${context.get('content-type').slice(0, 40)} says that the body is a form: send the file itself: ` +
      `curl -T FILE. Another client sends the bytes of the file as the body, with Content-Type: ${type}.`,
  );
}

/** Whether a POST stands for a PATCH, because the client or a proxy before it knows no PATCH. */
export const isPatchByPost = (context: Context): boolean =>
  context.get('x-http-method-override').trim().toUpperCase() === 'PATCH';

export function setTusHeaders(context: Context): void {
  context.set('Tus-Resumable', tusVersion);
  if (context.method === 'OPTIONS') context.set('Tus-Version', tusVersion);
}

/** @throws ApiError uploadVersionUnsupported for another version; callers without a client of tus may leave it out */
export function requireTus(context: Context): void {
  setTusHeaders(context);
  const version = context.get('tus-resumable');
  if (version === '' || version === tusVersion) return;
  throw new ApiError('uploadVersionUnsupported', `Tus-Resumable must be ${tusVersion}.`, {
    headers: { 'Tus-Version': tusVersion },
  });
}

/** Where the bytes of a call begin, and the length of the file if the call names it. */
export interface PatchHeaders {
  readonly offset: number;
  readonly named: number | undefined;
}

/** @throws ApiError unreadableRequest for missing or malformed headers */
export function patchHeadersOf(context: Context): PatchHeaders {
  if (context.get('content-type').trim().toLowerCase() !== patchType)
    throw unreadable(`The Content-Type must be ${patchType}.`);
  const offset = byteCount(context, 'Upload-Offset');
  if (offset === undefined) throw unreadable('Upload-Offset is missing.');
  return { offset, named: byteCount(context, 'Upload-Length') };
}

/** @throws ApiError unreadableRequest if a header is not a number of bytes */
function byteCount(context: Context, name: string): number | undefined {
  const text = context.get(name);
  if (text === '') return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw unreadable(`${name} must be a number of bytes.`);
}

/** Undefined for a body in chunks. Node has checked its form. */
export function contentLength({ req }: Context): number | undefined {
  const { 'content-length': length, 'transfer-encoding': coding } = req.headers;
  if (coding !== undefined) return undefined;
  return Number(length ?? 0);
}

const unreadable = (message: string): ApiError => new ApiError('unreadableRequest', message);
