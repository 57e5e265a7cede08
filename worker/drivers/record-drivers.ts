import type { Feature, Manifest } from '../../shared/bundle/manifest/manifest.js';
import { shortenedText } from '../../shared/contract/texts.js';
import { type Cell, isAbsent } from '../../shared/messages/cells.js';
import type { KnownFields } from '../../shared/messages/field-slots.js';
import type { ExplainedRows } from '../../shared/messages/score-job.js';
import { hasValue, isKnown, type Reading, wasUnseen } from '../feature-row/cell-reading.js';

/** A CRM field of a model. Its contribution is the sum over the columns of its features. */
interface DriverField {
  readonly field: string;
  readonly label: string;
  /** Indices of the manifest's features on this field. */
  readonly features: readonly number[];
}

export interface DriverFields {
  /** In the order of their first feature in the manifest. */
  readonly fields: readonly DriverField[];
  /** Index of the field of each input column. */
  readonly fieldOfColumn: Int32Array;
}

/**
 * The fields of a model. A field with several features takes the label of the first.
 * @param manifest a checked manifest
 */
export function driverFields({ features, width }: Pick<Manifest, 'features' | 'width'>): DriverFields {
  const indexOf = new Map<string, number>();
  const fields: { field: string; label: string; features: number[] }[] = [];
  const fieldOfColumn = new Int32Array(width);
  for (const [index, feature] of features.entries()) {
    let fieldIndex = indexOf.get(feature.field);
    if (fieldIndex === undefined) {
      fieldIndex = fields.push({ field: feature.field, label: feature.label, features: [] }) - 1;
      indexOf.set(feature.field, fieldIndex);
    }
    fields[fieldIndex]?.features.push(index);
    for (const column of columnsOf(feature)) fieldOfColumn[column] = fieldIndex;
  }
  return { fields, fieldOfColumn };
}

function columnsOf(feature: Feature): number[] {
  const beside = [
    'other_column' in feature ? feature.other_column : undefined,
    'missing_column' in feature ? feature.missing_column : undefined,
  ];
  return [...feature.columns, ...beside.filter((column) => column !== undefined)];
}

const maxDrivers = 10;
/** Fields with a smaller share of the total absolute contribution are omitted. */
const minShare = 0.01;
const tenThousandths = 10_000;
/** Longer values are truncated to this many UTF-16 units. */
const maxValueLength = 255;

/** One feature of a field: where its reading and its value are. */
interface ValueSource {
  readonly feature: number;
  readonly slot: number;
  readonly separator: string;
  /** Columns of a list, one for each value that the model knows; empty for other types. */
  readonly listColumns: readonly number[];
}

/** The drivers of one record, flat: field index, contribution in ten-thousandths, value as text, and so on. */
export type RecordDrivers = ExplainedRows['drivers'][number];

/** Converts contributions to drivers. */
export class DriverWriter {
  readonly fields: ExplainedRows['fields'];
  private readonly sources: readonly (readonly ValueSource[])[];

  constructor(manifest: Manifest, { slotOfFeature }: Pick<KnownFields, 'slotOfFeature'>) {
    const { fields }: DriverFields = driverFields(manifest);
    this.fields = fields.map(({ field, label }) => [field, label]);
    this.sources = fields.map(({ features }) =>
      features.flatMap((index) => {
        const feature = manifest.features[index];
        const slot = slotOfFeature[index];
        if (feature === undefined || slot === undefined) return [];
        const separator = feature.type === 'multi' ? (feature.separator ?? ';') : ';';
        const listColumns = feature.type === 'multi' ? feature.columns : [];
        return [{ feature: index, slot, separator, listColumns }];
      }),
    );
  }

  /**
   * Selects the drivers of one record: at most ten, strongest first, each with at least 1 % of the total.
   * @param of `contributions`: one per field; `cells`: the record's input; `readings`: of each feature
   */
  write(of: {
    readonly contributions: Float64Array;
    readonly cells: readonly Cell[];
    readonly readings: Uint8Array;
  }): RecordDrivers {
    const { contributions, cells, readings } = of;
    const drivers: (number | string)[] = [];
    for (const field of strongest(contributions)) {
      const rounded = Math.round(Math.abs(contributions[field] ?? 0) * tenThousandths);
      if (rounded === 0) break;
      const signed = (contributions[field] ?? 0) < 0 ? -rounded : rounded;
      drivers.push(field, signed, this.valueOf(field, cells, readings));
    }
    return drivers;
  }

  /**
   * The fields among the drivers of a record whose value the model has not seen. A list counts if it has no value that
   * the model knows.
   * @param row the record's input row
   */
  unseen(drivers: RecordDrivers, { row, readings }: { readonly row: Float32Array; readonly readings: Uint8Array }) {
    const found: number[] = [];
    for (let at = 0; at < drivers.length; at += 3) {
      const field = Number(drivers[at]);
      const sources = this.sources[field] ?? [];
      const unseen = sources.filter(({ feature }) => readings[feature] === wasUnseen);
      if (unseen.length === 0 || sources.some(({ feature }) => isKnown(readings[feature] as Reading))) continue;
      if (unseen.every(({ listColumns }) => listColumns.every((column) => row[column] === 0))) found.push(field);
    }
    return found;
  }

  /** The value that the model saw, as sent or stored; empty if it was missing. */
  private valueOf(field: number, cells: readonly Cell[], readings: Uint8Array): string {
    for (const { feature, slot, separator } of this.sources[field] ?? []) {
      const cell = cells[slot];
      if (!isAbsent(cell) && hasValue(readings[feature] as Reading))
        return shortenedText(textOf(cell, separator), maxValueLength);
    }
    return '';
  }
}

/** Indices of the relevant contributions by descending magnitude; ties keep the field order. */
function strongest(contributions: Float64Array): number[] {
  let total = 0;
  for (const contribution of contributions) total += Math.abs(contribution);
  const relevant: number[] = [];
  for (const [field, contribution] of contributions.entries())
    if (contribution !== 0 && Math.abs(contribution) >= minShare * total) relevant.push(field);
  const magnitude = (field: number): number => Math.abs(contributions[field] ?? 0);
  return relevant.sort((one, other) => magnitude(other) - magnitude(one)).slice(0, maxDrivers);
}

function textOf(cell: Exclude<Cell, undefined | null>, separator: string): string {
  if (!Array.isArray(cell)) return String(cell);
  // A list may have millions of values, of which the driver shows the first few.
  return cell
    .filter((value) => value !== null)
    .slice(0, maxValueLength + 2)
    .join(separator);
}
