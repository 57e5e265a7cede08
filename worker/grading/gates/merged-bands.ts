import type { BandCount } from '../statistics/cochran-armitage.js';

/** Neighbouring score bands that are judged as one. */
export interface MergedBand extends BandCount {
  /** The first and the last band in it: 0 is scores 0-19, 4 is 80-100. */
  readonly first: number;
  readonly last: number;
}

const fewestRecords = 20;
const fewestExpected = 5;

/**
 * Merges neighbouring bands until each has at least 20 records and at least 5 expected conversions (records × overall
 * rate), which the normal approximations of the tests need. The poorest band joins its poorer neighbour, again and again.
 * @param bands from the lowest scores to the highest
 * @returns at least one band where there are any; fewer than three say that no trend can be judged
 */
export function mergeBands(bands: readonly BandCount[]): MergedBand[] {
  const rate = sumOf(bands, 'conversions') / Math.max(1, sumOf(bands, 'records'));
  let merged: MergedBand[] = bands.map((band, index) => ({ ...band, first: index, last: index }));
  while (merged.length > 1) {
    const poorest = indexOfPoorest(merged);
    const band = merged[poorest];
    if (band === undefined || isRichEnough(band, rate)) break;
    merged = joinAt(merged, poorerNeighbour(merged, poorest));
  }
  return merged;
}

const isRichEnough = ({ records }: BandCount, rate: number): boolean =>
  records >= fewestRecords && records * rate >= fewestExpected;

function indexOfPoorest(bands: readonly BandCount[]): number {
  const records = bands.map((band) => band.records);
  return records.indexOf(Math.min(...records));
}

/** The index of the lower one of the two bands to be joined. */
function poorerNeighbour(bands: readonly BandCount[], index: number): number {
  const below = bands[index - 1]?.records ?? Number.POSITIVE_INFINITY;
  const above = bands[index + 1]?.records ?? Number.POSITIVE_INFINITY;
  return below <= above ? index - 1 : index;
}

/** Joins the band at an index with the one above it. */
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

/** Adds up one figure of some bands. */
export function sumOf(bands: readonly BandCount[], figure: keyof BandCount): number {
  let total = 0;
  for (const band of bands) total += band[figure];
  return total;
}
