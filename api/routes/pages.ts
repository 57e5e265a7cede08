import type { Context } from 'koa';
import { ApiError } from '../../shared/contract/errors.js';
import { queryParameter } from './reading.js';

/** The schema of a `limit`, or of another number. */
export interface LimitSchema {
  readonly minimum: number;
  readonly maximum: number;
  readonly default: number;
}

/** The query parameter `limit`: items of a page. @throws ApiError unreadableRequest */
export const limitOf = (context: Context, schema: LimitSchema): number => numberParameter(context, 'limit', schema);

/** A query parameter that is a whole number of up to three digits. @throws ApiError unreadableRequest */
export function numberParameter(
  context: Context,
  name: string,
  { minimum, maximum, default: usual }: LimitSchema,
): number {
  const text = queryParameter(context, name);
  if (text === undefined) return usual;
  const number = /^\d{1,3}$/.test(text) ? Number(text) : -1;
  if (number >= minimum && number <= maximum) return number;
  throw new ApiError('unreadableRequest', `${name} must be a whole number from ${minimum} to ${maximum}.`);
}

/**
 * The query parameter `cursor`.
 * @param form of the id in it
 * @returns the id of the last item of the previous page
 * @throws ApiError unreadableRequest
 */
export function cursorOf(context: Context, form: RegExp): string | undefined {
  const text = queryParameter(context, 'cursor');
  if (text === undefined) return undefined;
  const id = Buffer.from(text, 'base64url').toString('latin1');
  if (form.test(id)) return id;
  throw new ApiError('unreadableRequest', 'cursor must be the next_cursor of the previous page.');
}

/** The cursor of the page after an item. */
export const cursorAfter = (id: string): string => Buffer.from(id).toString('base64url');
