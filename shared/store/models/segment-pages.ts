import type { PredictionSegment } from '../calls/prediction-segment.js';

/** A segment may have a single record. */
const page = { first: 100, max: 1_000 };
/** So many ids are decoded in a few milliseconds. */
export const pageOfIds = 15_000;

/** Segments of the first page that is read. */
export const firstPage = page.first;

/**
 * How many segments the page after a full one has, so that it has as many rows as are decoded in one step.
 * @param records these rows: `pageOfIds`, or fewer with their fields
 */
export function nextPage(segments: readonly Pick<PredictionSegment, 'crm_ids'>[], records: number): number {
  const perSegment = segments.reduce((sum, { crm_ids: crmIds }) => sum + crmIds.length, 0) / segments.length;
  return Math.min(page.max, Math.max(1, Math.round(records / Math.max(1, perSegment))));
}
