/**
 * Max characters of a single value, without the white space around it: a longer text counts as missing. NFKC can make a
 * text 18 times as long, so megabytes must not reach it.
 */
export const maxValue = 4_096;
/** Max characters of a text with several values; more than any CRM stores in such a field. */
export const maxList = 65_536;

/** Marks a cut text. Not white space, which does not count. */
const cutMark = '…';

/** Cuts a text that is read as a single value. A text that is too long stays too long, by one character. */
export function cutValue(text: string): string {
  if (text.length <= maxValue) return text;
  const trimmed = text.trim();
  return trimmed.length <= maxValue ? trimmed : trimmed.slice(0, maxValue) + cutMark;
}

/**
 * Cuts a text that is read as several values, and perhaps also as a single one. Padding with white space keeps the
 * result too long as a list without changing it as a value.
 */
export function cutList(text: string): string {
  if (text.length <= maxList) return text;
  const trimmed = text.trim();
  return trimmed.length <= maxList ? trimmed.padEnd(maxList + 1) : trimmed.slice(0, maxList) + cutMark;
}

/**
 * `cutList` for a stored text. Another model may have cut it as a single value: its beginning is not the whole list.
 */
export function cutFilledList(text: string): string {
  const wasCut = text.length === maxValue + 1 && text.endsWith(cutMark);
  return wasCut ? text.padEnd(maxList + 1) : cutList(text);
}

/** A JSON value that a feature can be read from. */
export type Scalar = string | number | boolean;

/** Represents an object (`{}`), or a number beyond float64 (`{ overflow: true }`), which JSON cannot express. */
interface RefusedCell {
  readonly overflow?: true;
}

/**
 * The value of a record in one slot, in a form that survives JSON:
 * - `undefined` or null: not sent. JSON converts undefined to null inside arrays.
 * - `[]`: sent as null or as an empty array.
 * - a scalar, or an array of at least two scalars or nulls: as sent.
 * - `[[]]`: an array that contained an array or an object. `{}`: an object. The nested content is dropped.
 * - `{ overflow: true }`: a number such as 1e999.
 */
export type Cell = undefined | null | Scalar | readonly (Scalar | null | readonly never[])[] | RefusedCell;

const sentNull: Cell = Object.freeze([]);
const nestedArray: Cell = Object.freeze([Object.freeze([])]);
const anObject: Cell = Object.freeze({});
const overflowCell: Cell = Object.freeze({ overflow: true as const });

/** Whether a slot was not sent. */
export function isAbsent(cell: Cell): cell is undefined | null {
  return cell === undefined || cell === null;
}

/** The slots that have a bit of their own among gaps. */
const gapSlots = 25;
/** The bit of all further slots. */
const furtherGaps = 1 << gapSlots;

/**
 * The slots that have no value in a record, as bits: slot 0 is the lowest. A bit above those stands for all slots from
 * 25 on.
 */
export function gapsOf(cells: readonly Cell[], slotCount: number): number {
  let gaps = 0;
  for (let slot = 0; slot < slotCount; slot += 1) if (isAbsent(cells[slot])) gaps |= 1 << Math.min(slot, gapSlots);
  return gaps;
}

/** The gaps of a record that are certain: a gap from slot 25 on does not say which of these slots it is. */
export const certainGaps = (gaps: number): number => gaps & ~furtherGaps;

/**
 * Packs a value of a record. Texts of an array are cut as lists; features of single values refuse arrays anyway.
 * @param value any result of `JSON.parse`; undefined counts as not sent
 */
export function packCell(value: unknown): Cell {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return value;
    case 'number':
      return Number.isFinite(value) ? value : overflowCell;
    default:
      if (value === null) return sentNull;
      return Array.isArray(value) ? packArray(value) : anObject;
  }
}

function packArray(values: readonly unknown[]): Cell {
  if (values.length === 0) return sentNull;
  let overflow = false;
  let isLong = false;
  for (const value of values) {
    if (typeof value === 'string') isLong ||= value.length > maxList;
    else if (typeof value === 'number') overflow ||= !Number.isFinite(value);
    else if (value !== null && typeof value !== 'boolean') return nestedArray;
  }
  if (overflow) return overflowCell;
  if (values.length === 1) return packCell(values[0]);
  const cell = values as readonly (Scalar | null)[];
  return isLong ? cutTexts(cell) : cell;
}

/** Whether a cell is a text too long for a single value. */
export const isLongText = (cell: Cell): cell is string => typeof cell === 'string' && cell.length > maxValue;

/** Cuts the texts of an array; gives the same array when none is too long. */
export function cutTexts<Value>(values: readonly Value[]): readonly (Value | string)[] {
  for (const value of values)
    if (typeof value === 'string' && value.length > maxList)
      return values.map((each) => (typeof each === 'string' ? cutList(each) : each));
  return values;
}
