import { cutList, maxList, maxValue } from '../contract/text-limits.js';

/** A JSON value that a feature can be read from. */
export type Scalar = string | number | boolean;

/** Stands for an object (`{}`) or for a number beyond float64 (`{ overflow: true }`), which JSON cannot carry. */
export interface RefusedCell {
  readonly overflow?: true;
}

/**
 * What a record holds in one slot, in a form that survives JSON:
 * - `undefined` or null: not sent. JSON turns the one into the other inside arrays.
 * - `[]`: sent, as null or as an empty array.
 * - a scalar, or an array of at least two scalars or nulls: as it was sent.
 * - `[[]]`: an array that held an array or an object. `{}`: an object. Neither carries what the caller nested.
 * - `{ overflow: true }`: a number such as 1e999.
 */
export type Cell = undefined | null | Scalar | readonly (Scalar | null | readonly never[])[] | RefusedCell;

const sentNull: Cell = Object.freeze([]);
const nestedArray: Cell = Object.freeze([Object.freeze([])]);
const anObject: Cell = Object.freeze({});
const overflowCell: Cell = Object.freeze({ overflow: true as const });

/** Whether a slot was not sent at all. */
export function isAbsent(cell: Cell): cell is undefined | null {
  return cell === undefined || cell === null;
}

/**
 * The cell of a value of a record. The texts of an array are cut as lists: as values, they are refused together.
 * @param value anything that `JSON.parse` gives; undefined counts as not sent
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

/** Whether a cell is a text that is too long for a single value. */
export const isLongText = (cell: Cell): cell is string => typeof cell === 'string' && cell.length > maxValue;

/** An array with its texts cut; the same one where none is too long. */
export function cutTexts<Value>(values: readonly Value[]): readonly (Value | string)[] {
  for (const value of values)
    if (typeof value === 'string' && value.length > maxList)
      return values.map((each) => (typeof each === 'string' ? cutList(each) : each));
  return values;
}
