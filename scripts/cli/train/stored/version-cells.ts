import type { Feature, Manifest } from '../../../../shared/bundle/manifest/manifest.js';
import { type Cell, isAbsent } from '../../../../shared/messages/cells.js';
import { compileKnownFields } from '../../../../shared/messages/field-slots.js';

/** How the recorded rows of one version are read. */
export interface VersionReader {
  /** Fields that the features of the current version read, and this version did not. */
  readonly lacks: readonly string[];
  /** One value a column. @param text the cells of a record, as they are stored */
  valuesOf(text: string): unknown[];
}

/** The fields that a new version is trained on. */
export interface TrainedFields {
  /** The features of the current version, without the skipped ones. */
  readonly features: readonly Feature[];
  /** The fields that they read, each once, and that of the recency guard. */
  readonly columns: readonly string[];
  /** @param manifest of the version that scored the rows */
  readerOf(manifest: Manifest): VersionReader;
}

/**
 * The fields of the current version, and how rows of any version are brought to them. A stored field goes to the slot
 * that a sent field of its name would take.
 * @param skipped fields that are not trained on
 */
export function trainedFields(current: Manifest, skipped: ReadonlySet<string>): TrainedFields {
  const features = current.features.filter(({ field }) => !skipped.has(field));
  const { recency } = current;
  const guarded = recency === undefined || skipped.has(recency.field) ? {} : { recency };
  const known = compileKnownFields({ features, ...guarded });
  const columns = [...new Set(known.slotNames)];
  const slotsOf = columns.map((column) => known.slotNames.flatMap((name, slot) => (name === column ? [slot] : [])));
  return {
    features,
    columns,
    readerOf: (manifest) => {
      const { slotNames: names } = compileKnownFields(manifest);
      const sent = known.sentNames();
      const filled = new Set(names.flatMap((name) => sent.targetsOf(name).map(({ slot }) => slot)));
      const read = known.slotNames.slice(0, known.scoredSlotCount);
      return {
        lacks: [...new Set(read.filter((_, slot) => !filled.has(slot)))],
        valuesOf: (text) => {
          const cells = new Array<Cell>(known.slotCount).fill(undefined);
          known.mergeStored({ cells, stored: { names, cells: JSON.parse(text) } });
          return slotsOf.map((slots) => plainValue(slots.map((slot) => cells[slot]).find((cell) => !isAbsent(cell))));
        },
      };
    },
  };
}

/** A cell as JSON. No feature can read an object, a nested array or a number beyond float64: they are null. */
function plainValue(cell: Cell): unknown {
  if (isAbsent(cell) || typeof cell !== 'object') return cell ?? null;
  return Array.isArray(cell) && cell.length > 0 && !cell.some((each) => Array.isArray(each)) ? cell : null;
}
