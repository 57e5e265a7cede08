import type { PredictionSegment } from '../../../shared/store/calls/prediction-segment.js';

/** 15,000 ids are decoded in a few milliseconds. A segment may have a single one. */
const page = { first: 100, max: 1_000, records: 15_000 };

/** Segments of the first page that is read. */
export const firstPage = page.first;

/** How many segments the page after a full one has, so that it has as many rows as are decoded in one step. */
export function nextPage(segments: readonly Pick<PredictionSegment, 'crm_ids'>[]): number {
  const perSegment = segments.reduce((sum, { crm_ids: crmIds }) => sum + crmIds.length, 0) / segments.length;
  return Math.min(page.max, Math.max(1, Math.round(page.records / Math.max(1, perSegment))));
}
