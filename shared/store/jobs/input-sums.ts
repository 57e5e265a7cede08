import type { DateOrder } from '../../bundle/expected-values.js';

/*
 * How the fields of a job's rows were read, in counts alone: an erasure could not reach values.
 */

/** A field of the model of a job. */
export interface CountedField {
  readonly field: string;
  /** A description of the values that the model expects. */
  readonly expected: string;
  /** Only of a date that the model reads with slashes. */
  readonly date_order?: DateOrder;
}

/** The counts of each field. `unsent` are records without a value of it, also those that were filled in. */
export const countedKinds = ['unsent', 'unread', 'unseen', 'ambiguous'] as const;
type CountedKind = (typeof countedKinds)[number];

/** A column or member that the model does not know. */
export interface IgnoredSum {
  /** Shortened. */
  readonly name: string;
  /** Records that sent it. Absent: all, as they do with a column of a CSV. */
  readonly records?: number;
  /** The fields that are probably meant, the most likely first. Absent without one. */
  readonly meant?: readonly string[];
}

/** The counts of one slice, or the sums over the settled prefix. */
export interface InputSums {
  /** Scored rows. */
  readonly records: number;
  /** Pairs: the place of a kind of a field, see `placeOf`, and its count. Places without a count are left out. */
  readonly counts: readonly number[];
  /** At most `maxIgnoredSums`. */
  readonly ignored: readonly IgnoredSum[];
  /** Different such names, at least. */
  readonly different: number;
}

export const maxIgnoredSums = 200;

/** @param field its number among the counted fields */
export const placeOf = (field: number, kind: CountedKind): number =>
  field * countedKinds.length + countedKinds.indexOf(kind);

/** The counts by their place. */
export function countsByPlace(counts: readonly number[]): Map<number, number> {
  const byPlace = new Map<number, number>();
  for (let at = 0; at + 1 < counts.length; at += 2) byPlace.set(counts[at] ?? 0, counts[at + 1] ?? 0);
  return byPlace;
}

/**
 * The sums with one more slice.
 * @param slice undefined for one without a scored row
 */
export function withSlice(sums: InputSums, slice: InputSums | undefined): InputSums {
  if (slice === undefined) return sums;
  const counts = countsByPlace(sums.counts);
  for (const [place, count] of countsByPlace(slice.counts)) counts.set(place, (counts.get(place) ?? 0) + count);
  const ignored = new Map(sums.ignored.map((each) => [each.name, each]));
  for (const { name, records = 0, ...more } of slice.ignored) {
    const before = ignored.get(name);
    if (before === undefined && ignored.size >= maxIgnoredSums) continue;
    ignored.set(name, { name, ...more, records: (before?.records ?? 0) + records });
  }
  return {
    records: sums.records + slice.records,
    counts: [...counts].flat(),
    ignored: [...ignored.values()],
    different: Math.max(sums.different, slice.different, ignored.size),
  };
}
