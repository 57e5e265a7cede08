import type { Db } from 'mongodb';
import { readStoredRecords } from '../../store/calls/lead-lookup.js';
import type { PastScore } from '../../store/calls/predictions.js';
import { cellsOf, slotLabels } from './named-fields.js';

/** A field with another value than before, for people; null for a missing value. */
interface ChangedField {
  readonly field: string;
  readonly label: string;
  readonly before: string | null;
  readonly after: string | null;
}

const timeoutMs = 5_000;
const maxShown = 10;
const maxText = 200;

/**
 * The fields that changed before each score of a lead, by prediction id. Compares with the score before under the same
 * version of the same model, because only then both have the same fields. Scores without such a predecessor are absent.
 * @param scores of one lead, latest first
 */
export async function changedFields(
  database: Db,
  scores: readonly PastScore[],
): Promise<ReadonlyMap<string, readonly ChangedField[]>> {
  const pairs = scores.flatMap((after, index) => {
    const before = earlierOf(scores, index);
    return before?.version === after.version ? [{ before, after }] : [];
  });
  const ids = [...new Set(pairs.flatMap(({ before, after }) => [before.id, after.id]))];
  const records = await readStoredRecords(database, ids, timeoutMs);
  const versions = new Map(pairs.map(({ after }) => [`${after.model}:${after.version}`, after]));
  const labels = new Map<string, readonly { readonly field: string; readonly label: string }[]>();
  for (const [id, { model, version }] of versions) labels.set(id, await slotLabels(database, model, version));
  const changed = new Map<string, readonly ChangedField[]>();
  for (const { before, after } of pairs) {
    const [one, other] = [cellsOf(records.get(before.id)?.fields), cellsOf(records.get(after.id)?.fields)];
    const slots = labels.get(`${after.model}:${after.version}`) ?? [];
    if (one === undefined || other === undefined) continue;
    const differing = slots.flatMap(({ field, label }, slot) => {
      const [was, is] = [textOf(one[slot]), textOf(other[slot])];
      return was === is ? [] : [{ field, label, before: was, after: is }];
    });
    changed.set(after.id, differing.slice(0, maxShown));
  }
  return changed;
}

/** The score before another one under the same model, on the same page. */
export const earlierOf = (scores: readonly PastScore[], index: number): PastScore | undefined =>
  scores.slice(index + 1).find(({ model }) => model === scores[index]?.model);

function textOf(cell: unknown): string | null {
  // A sent null is stored as an empty array.
  if (cell === undefined || cell === null || (Array.isArray(cell) && cell.length === 0)) return null;
  return (typeof cell === 'string' ? cell : JSON.stringify(cell)).slice(0, maxText).toWellFormed();
}
