import type { BandCount } from '../statistics/cochran-armitage.js';

/** Neighbouring score bands that are tested as one. */
export interface MergedBand extends BandCount {
  /** The first and the last of these bands: 0 is scores 0-19, 4 is scores 80-100. */
  readonly first: number;
  readonly last: number;
}

const minRecords = 20;
const minExpected = 5;

/**
 * Merges neighbouring bands until each has at least 20 records and 5 expected conversions (records × overall rate). The
 * normal approximations of the tests require that. Repeatedly, the smallest band joins its smaller neighbour.
 * @param bands from the lowest scores to the highest
 * @returns at least one band, unless `bands` is empty; a trend needs at least three
 */
export function mergeBands(bands: readonly BandCount[]): MergedBand[] {
  const rate = sumOf(bands, 'conversions') / Math.max(1, sumOf(bands, 'records'));
  let merged: MergedBand[] = bands.map((band, index) => ({ ...band, first: index, last: index }));
  while (merged.length > 1) {
    const smallest = indexOfSmallest(merged);
    const band = merged[smallest];
    if (band === undefined || isLargeEnough(band, rate)) break;
    merged = joinAt(merged, smallerNeighbour(merged, smallest));
  }
  return merged;
}

const isLargeEnough = ({ records }: BandCount, rate: number): boolean =>
  records >= minRecords && records * rate >= minExpected;

function indexOfSmallest(bands: readonly BandCount[]): number {
  const records = bands.map((band) => band.records);
  return records.indexOf(Math.min(...records));
}

/** The lower index of the two bands to join. */
function smallerNeighbour(bands: readonly BandCount[], index: number): number {
  const below = bands[index - 1]?.records ?? Number.POSITIVE_INFINITY;
  const above = bands[index + 1]?.records ?? Number.POSITIVE_INFINITY;
  return below <= above ? index - 1 : index;
}

/** Joins the band at an index with the next higher band. */
function joinAt(bands: readonly MergedBand[], index: number): MergedBand[] {
  return bands.flatMap((band, each) => {
    const above = bands[each + 1];
    if (each === index && above !== undefined) {
      const records = band.records + above.records;
      return {
        first: band.first,
        last: above.last,
        records,
        conversions: band.conversions + above.conversions,
      };
    }
    return each === index + 1 ? [] : band;
  });
}

/** Adds up one figure of bands. */
export function sumOf(bands: readonly BandCount[], figure: keyof BandCount): number {
  let total = 0;
  for (const band of bands) total += band[figure];
  return total;
}
