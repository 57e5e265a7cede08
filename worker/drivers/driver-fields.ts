import type { Feature, Manifest } from '../../shared/bundle/manifest.js';

/** A CRM field of a model, whose contribution is that of all columns that its features fill. */
export interface DriverField {
  readonly field: string;
  readonly label: string;
  /** Indices of the manifest's features that read the field. */
  readonly features: readonly number[];
}

export interface DriverFields {
  /** In the order in which the manifest first names them. */
  readonly fields: readonly DriverField[];
  /** The field that each input column belongs to. */
  readonly fieldOfColumn: Int32Array;
}

/**
 * The fields of a model. The label of one that several features read is that of the first.
 * @param manifest a checked manifest
 */
export function driverFields({ features, width }: Pick<Manifest, 'features' | 'width'>): DriverFields {
  const placeOf = new Map<string, number>();
  const fields: { field: string; label: string; features: number[] }[] = [];
  const fieldOfColumn = new Int32Array(width);
  for (const [index, feature] of features.entries()) {
    let place = placeOf.get(feature.field);
    if (place === undefined) {
      place = fields.push({ field: feature.field, label: feature.label, features: [] }) - 1;
      placeOf.set(feature.field, place);
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
