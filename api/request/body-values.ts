import { ApiError } from '../../shared/contract/errors.js';
import { endsTooEarly, maxLevels, tooDeep } from './parse-json.js';

/**
 * Values that a body may have at most: for a batch what 1000 records of 300 fields have, else many times what is needed. More
 * of them, where they are chosen to be slow, take seconds to parse, in which nobody else is answered.
 */
export const maxValues = { ofBatch: 300_000, ofRecord: 100_000, ofOutcomes: 100_000 } as const;

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** How much there is to parse in a JSON body. */
export interface BodyValues {
  /** Members of all its objects and items of all its lists, however they are nested; an empty one of these counts as one. */
  readonly count: number;
  /** Items of the longest list that is a member of the body itself, as `records` is. */
  readonly maxList: number;
  /** Levels of objects and lists in it, itself included. */
  readonly levels: number;
  /** Whether all that it opens is closed. */
  readonly isWhole: boolean;
}

/** Counts the values in a body that is JSON, by the commas and brackets between its texts: some milliseconds a megabyte. */
export function valuesIn(body: Buffer): BodyValues {
  let count = 0;
  let maxList = 0;
  let depth = 0;
  let levels = 0;
  let items = 0;
  let isInText = false;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === quote) isInText = !isInText;
    else if (isInText) at += byte === backslash ? 1 : 0;
    else if (byte === comma) {
      count += 1;
      items += depth === 2 ? 1 : 0;
    } else if (byte === openList || byte === openObject) {
      count += 1;
      depth += 1;
      levels = Math.max(levels, depth);
      if (depth === 2) items = byte === openList ? 1 : Number.NEGATIVE_INFINITY;
    } else if (byte === closeList || byte === closeObject) {
      if (depth === 2) maxList = Math.max(maxList, items);
      depth -= 1;
    }
  }
  return { count, maxList, levels, isWhole: depth === 0 && !isInText };
}

/**
 * Refuses a body of too many values before it is parsed.
 * @param limit.advice what to send instead
 * @param limit.refuse throws another error where there is one that says better what is wrong
 * @throws ApiError refusedRequest; unreadableRequest where that can be told without parsing it
 */
export function boundValues(
  body: Buffer,
  limit: {
    readonly most: number;
    readonly advice: string;
    readonly refuse?: (values: BodyValues) => void;
  },
): void {
  const { most, advice, refuse } = limit;
  // Each takes two bytes at least, so most bodies need not be looked through.
  if (body.length <= 2 * most) return;
  const values = valuesIn(body);
  if (values.count <= most) return;
  if (!values.isWhole) throw endsTooEarly();
  if (values.levels > maxLevels) throw tooDeep();
  refuse?.(values);
  throw new ApiError('refusedRequest', `The body has more than ${most} values: ${advice}.`);
}
