import type { Db } from 'mongodb';
import { compileKnownFields } from '../../messages/field-slots.js';
import { loadManifest } from '../../store/models/model-versions.js';

/** A value of a record as it was sent: any JSON. */
interface NamedField {
  readonly field: string;
  readonly value: unknown;
}

/** Gives the cells of a record the names of their fields. Undefined or null gives no fields, as after an erasure. */
type NameCells = (text: string | null | undefined) => readonly NamedField[];

/** Makes a function that reads the names of a version, once. */
export function fieldNames(database: Db) {
  const read = new Map<string, Promise<NameCells>>();
  return (model: string, version: string): Promise<NameCells> => {
    const key = `${model}:${version}`;
    const known = read.get(key) ?? slotLabels(database, model, version).then(naming);
    read.set(key, known);
    return known;
  };
}

const naming =
  (slots: Awaited<ReturnType<typeof slotLabels>>): NameCells =>
  (text) =>
    (cellsOf(text) ?? []).flatMap((cell, slot) => {
      if (cell === null || cell === undefined) return [];
      // A sent null is stored as an empty list.
      const isNull = Array.isArray(cell) && cell.length === 0;
      return [{ field: slots[slot]?.field ?? `field ${slot + 1}`, value: isNull ? null : cell }];
    });

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
