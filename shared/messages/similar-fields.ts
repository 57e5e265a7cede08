import { LRUCache } from 'lru-cache';
import { foldedText } from '../contract/texts.js';
import type { KnownFields } from './field-slots.js';

/** A field, and all names under which it can be sent. */
export interface NamedField {
  readonly field: string;
  readonly names: readonly string[];
}

/** One name of a field in the forms that are compared. */
interface Entry {
  readonly field: string;
  readonly letters: string;
  readonly digits: string;
  readonly marks: number;
}

/** Longer names are not compared: each comparison then takes less than a microsecond. */
const maxNameLength = 64;
const maxCandidates = 3;
/** Letters that are inserted, left out or exchanged with their neighbour cost 2, replaced ones 3. */
const [insertCost, replaceCost] = [2, 3];
/**
 * Names below these lengths differ by no letter, and by one. "Max employees" and "Min employees" differ by too much.
 */
const lengthForOne = 6;
const lengthForTwo = 10;
const [costOfOne, costOfTwo] = [3, 5];
const maxInserts = 2;

/** Work of one call in comparisons of lengths; a distance counts as many. It bounds a call to some milliseconds. */
const maxWork = 500_000;
const distanceWork = 300;

/** The work that is left to one call. */
export class SuggestionWork {
  private left = maxWork;

  /** Whether the call may do that much more. */
  take(work: number): boolean {
    this.left -= work;
    return this.left >= 0;
  }
}

/** The fields that recent names of all models most likely mean. Tools send the same names in every call. */
const recent = new LRUCache<string, readonly string[]>({
  maxSize: 1_000_000, // characters
  sizeCalculation: (fields, key) => key.length + fields.join('').length + 1,
});

/** Finds the fields of a model that a name without a field most likely means. */
export class SimilarFields {
  private readonly byLetters = new Map<string, string[]>();
  private readonly entries: Entry[] = [];

  /** @param modelKey names the model and its version. Without it, nothing is remembered */
  constructor(
    private readonly modelKey: string | undefined,
    fields: readonly NamedField[],
  ) {
    for (const { field, names } of fields)
      for (const name of names) {
        if (name.length > maxNameLength) continue;
        const { letters, sorted, digits } = formsOf(name);
        for (const form of new Set([letters, sorted])) this.add(form, field);
        this.entries.push({ field, letters, digits, marks: marksOf(letters) });
      }
  }

  /** The fields of a model under all their names. */
  static among(
    { slotNames, slotAliases }: Pick<KnownFields, 'slotNames' | 'slotAliases'>,
    modelKey?: string,
  ): SimilarFields {
    const named = slotNames.map((field, slot) => ({ field, names: [field, ...(slotAliases[slot] ?? [])] }));
    return new SimilarFields(modelKey, named);
  }

  /**
   * At most three fields, the most likely first.
   * @param name one that feeds no field
   */
  of(name: string, work: SuggestionWork): readonly string[] {
    if (name.length > maxNameLength) return [];
    const key = this.modelKey === undefined ? undefined : `${this.modelKey}\n${name}`;
    const known = key === undefined ? undefined : recent.get(key);
    if (known !== undefined) return known;
    if (!work.take(this.entries.length)) return [];
    const found = this.search(name, work);
    if (key !== undefined && found !== undefined) recent.set(key, found);
    return found ?? [];
  }

  /** Undefined when the work ran out. */
  private search(name: string, work: SuggestionWork): string[] | undefined {
    const { letters, sorted, digits } = formsOf(name);
    if (letters === '') return [];
    const same = [...(this.byLetters.get(letters) ?? []), ...(this.byLetters.get(sorted) ?? [])];
    const marks = marksOf(letters);
    const costs = new Map<string, number>(same.map((field) => [field, 0]));
    for (const entry of this.entries) {
      if (Math.abs(entry.letters.length - letters.length) > maxInserts || entry.digits !== digits) continue;
      const limit = limitOf(Math.min(entry.letters.length, letters.length));
      if (limit === 0 || bitCount(entry.marks ^ marks) > 2 * maxInserts) continue;
      if (!work.take(distanceWork)) return undefined;
      const cost = editCost(letters, entry.letters);
      if (cost <= limit && cost < (costs.get(entry.field) ?? limit + 1)) costs.set(entry.field, cost);
    }
    const byCost = [...costs].sort(([, one], [, other]) => one - other);
    return byCost.slice(0, maxCandidates).map(([field]) => field);
  }

  private add(form: string, field: string): void {
    const fields = this.byLetters.get(form);
    if (fields === undefined) this.byLetters.set(form, [field]);
    else fields.push(field);
  }
}

/** Letters and digits of a name: in its order, and with its words sorted; and its digits alone. */
function formsOf(name: string): { readonly letters: string; readonly sorted: string; readonly digits: string } {
  const words = foldedText(name.replace(/(\p{Ll}|\p{N})(?=\p{Lu})/gu, '$1 '))
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word !== '');
  const letters = words.join('');
  return { letters, sorted: words.sort().join(' '), digits: letters.replace(/\P{N}+/gu, ' ').trim() };
}

function limitOf(length: number): number {
  if (length < lengthForOne) return 0;
  return length < lengthForTwo ? costOfOne : costOfTwo;
}

/** A bit for each letter, of which several share one. An edit changes at most two bits. */
export function marksOf(letters: string): number {
  let marks = 0;
  for (let index = 0; index < letters.length; index += 1) marks |= 1 << (letters.charCodeAt(index) & 31);
  return marks;
}

export function bitCount(bits: number): number {
  let count = 0;
  for (let left = bits; left !== 0; left &= left - 1) count += 1;
  return count;
}

const far = 1_000;
/** The costs of a row and of the two rows before it. */
const newRow = (): Uint16Array => new Uint16Array(maxNameLength + maxInserts + 2);
const rowsOfCosts: readonly [Uint16Array, Uint16Array, Uint16Array] = [newRow(), newRow(), newRow()];

/**
 * The cost of the edits between two names, if at most two letters are inserted or left out; else a higher one.
 * @param one and `other`: of at most 64 letters
 */
export function editCost(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > maxInserts) return far;
  let [beforeLast, last, costs] = rowsOfCosts;
  for (let at = 0; at <= maxInserts; at += 1) last[at] = at * insertCost;
  last[maxInserts + 1] = far;
  for (let row = 1; row <= one.length; row += 1) {
    const start = Math.max(1, row - maxInserts);
    const end = Math.min(other.length, row + maxInserts);
    costs[start - 1] = start === 1 && row <= maxInserts ? row * insertCost : far;
    for (let at = start; at <= end; at += 1) {
      const letter = one.charCodeAt(row - 1);
      const isSame = letter === other.charCodeAt(at - 1);
      let cost = (last[at - 1] ?? far) + (isSame ? 0 : replaceCost);
      cost = Math.min(cost, (last[at] ?? far) + insertCost, (costs[at - 1] ?? far) + insertCost);
      const isExchanged =
        row > 1 &&
        at > 1 &&
        letter === other.charCodeAt(at - 2) &&
        one.charCodeAt(row - 2) === other.charCodeAt(at - 1);
      if (isExchanged) cost = Math.min(cost, (beforeLast[at - 2] ?? far) + insertCost);
      costs[at] = cost;
    }
    costs[end + 1] = far;
    [beforeLast, last, costs] = [last, costs, beforeLast];
  }
  return last[other.length] ?? far;
}
