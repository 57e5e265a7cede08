import type { Feature, Manifest } from '../../shared/bundle/manifest/manifest.js';
import { type Cell, isAbsent } from '../../shared/messages/cells.js';
import type { KnownFields } from '../../shared/messages/field-slots.js';
import type { ExplainedRows } from '../../shared/messages/score-job.js';
import { compileMissingTexts, wasRead } from '../feature-row/cell-reading.js';
import { compileFeatureReader, type FeatureReader, readStructure } from '../feature-row/feature-reader.js';

/** A CRM field of a model. Its contribution is the sum over the columns of its features. */
export interface DriverField {
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
    let place = indexOf.get(feature.field);
    if (place === undefined) {
      place = fields.push({ field: feature.field, label: feature.label, features: [] }) - 1;
      indexOf.set(feature.field, place);
    }
    fields[place]?.features.push(index);
    for (const column of columnsOf(feature)) fieldOfColumn[column] = place;
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

/** Re-reads one feature of a field to find out whether the model saw a value. */
interface ValueReader {
  readonly reader: FeatureReader;
  readonly separator: string;
}

/** The drivers of one record, flat: field index, contribution in ten-thousandths, value as text, and so on. */
export type RecordDrivers = ExplainedRows['drivers'][number];

/** Converts contributions to drivers. */
export class DriverWriter {
  readonly fields: ExplainedRows['fields'];
  private readonly readers: readonly (readonly ValueReader[])[];
  private readonly scratch: Float32Array;

  constructor(manifest: Manifest, { slotOfFeature }: Pick<KnownFields, 'slotOfFeature'>) {
    const { fields }: DriverFields = driverFields(manifest);
    const missingTexts = compileMissingTexts(manifest.missing_tokens);
    this.fields = fields.map(({ field, label }) => [field, label]);
    this.scratch = new Float32Array(manifest.width);
    this.readers = fields.map(({ features }) =>
      features.flatMap((index) => {
        const feature = manifest.features[index];
        const slot = slotOfFeature[index];
        if (feature === undefined || slot === undefined) return [];
        const separator = feature.type === 'multi' ? (feature.separator ?? ';') : ';';
        return [{ reader: compileFeatureReader(feature, { slot, missingTexts }), separator }];
      }),
    );
  }

  /**
   * Selects the drivers of one record: at most ten, strongest first, each with at least 1 % of the total.
   * @param of `contributions`: one per field; `cells`: the record's input
   */
  write(of: {
    readonly contributions: Float64Array;
    readonly cells: readonly Cell[];
    readonly nowMs: number;
  }): RecordDrivers {
    const { contributions, cells, nowMs } = of;
    const drivers: (number | string)[] = [];
    for (const place of strongest(contributions)) {
      const rounded = Math.round(Math.abs(contributions[place] ?? 0) * tenThousandths);
      if (rounded === 0) break;
      const signed = (contributions[place] ?? 0) < 0 ? -rounded : rounded;
      drivers.push(place, signed, this.valueOf(place, cells, nowMs));
    }
    return drivers;
  }

  /** The value that the model saw, as sent or stored; empty if it was missing. */
  private valueOf(place: number, cells: readonly Cell[], nowMs: number): string {
    for (const { reader, separator } of this.readers[place] ?? []) {
      const cell = cells[reader.slot];
      if (isAbsent(cell)) continue;
      const target = { out: this.scratch, offset: 0, nowMs };
      const reading = typeof cell === 'object' ? readStructure(reader, cell, target) : reader.write(cell, target);
      if (reading === wasRead) return cut(textOf(cell, separator));
    }
    return '';
  }
}

/** Indices of the relevant contributions by descending magnitude; ties keep the field order. */
function strongest(contributions: Float64Array): number[] {
  let total = 0;
  for (const contribution of contributions) total += Math.abs(contribution);
  const relevant: number[] = [];
  for (const [place, contribution] of contributions.entries())
    if (contribution !== 0 && Math.abs(contribution) >= minShare * total) relevant.push(place);
  const magnitude = (place: number): number => Math.abs(contributions[place] ?? 0);
  return relevant.sort((one, other) => magnitude(other) - magnitude(one)).slice(0, maxDrivers);
}

function textOf(cell: Exclude<Cell, undefined | null>, separator: string): string {
  if (!Array.isArray(cell)) return String(cell);
  return cell.filter((value) => value !== null).join(separator);
}

function cut(text: string): string {
  if (text.length <= maxValueLength) return text;
  const kept = text.slice(0, maxValueLength - 1);
  // Does not cut a surrogate pair in half.
  return `${/[\uD800-\uDBFF]$/.test(kept) ? kept.slice(0, -1) : kept}…`;
}
