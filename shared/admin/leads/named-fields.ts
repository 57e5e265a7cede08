import type { Db } from 'mongodb';
import { compileKnownFields } from '../../messages/field-slots.js';
import { loadManifest } from '../../store/models/model-versions.js';

/** A value of a record as it was sent: any JSON. */
export interface NamedField {
  readonly field: string;
  readonly value: unknown;
}

interface VersionOf {
  readonly model: string;
  readonly version: string;
}

/**
 * Makes a function that gives the stored cells of a record the names of their fields. It reads each version once.
 * @returns a function that takes cells as JSON; undefined or null gives no fields, as after an erasure
 */
export function namedFields(database: Db) {
  const read = new Map<string, ReturnType<typeof slotLabels>>();
  return async ({ model, version }: VersionOf, text: string | null | undefined): Promise<readonly NamedField[]> => {
    const key = `${model}:${version}`;
    const labels = read.get(key) ?? slotLabels(database, model, version);
    read.set(key, labels);
    const slots = await labels;
    return (cellsOf(text) ?? []).flatMap((cell, slot) => {
      if (cell === null || cell === undefined) return [];
      // A sent null is stored as an empty list.
      const isNull = Array.isArray(cell) && cell.length === 0;
      return [{ field: slots[slot]?.field ?? `field ${slot + 1}`, value: isNull ? null : cell }];
    });
  };
}

/** The field and the label of each slot of a version. */
export async function slotLabels(
  database: Db,
  model: string,
  version: string,
): Promise<readonly { readonly field: string; readonly label: string }[]> {
  const manifest = await loadManifest(database, model, version);
  if (manifest === undefined) return [];
  const labels = new Map(manifest.features.map(({ field, label }) => [field, label]));
  return compileKnownFields(manifest).slotNames.map((field) => ({ field, label: labels.get(field) ?? field }));
}

/** The cells of a record by slot; undefined where they are erased or too long. */
export function cellsOf(text: string | null | undefined): readonly unknown[] | undefined {
  if (text === undefined || text === null) return undefined;
  const cells: unknown = JSON.parse(text);
  return Array.isArray(cells) ? cells : undefined;
}
