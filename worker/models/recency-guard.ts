import type { Manifest } from '../../shared/bundle/manifest/manifest.js';
import type { Cell } from '../../shared/messages/cells.js';
import type { KnownFields } from '../../shared/messages/field-slots.js';
import { compileMissingTexts } from '../feature-row/cell-reading.js';
import { compileDateReader, dayMs } from '../feature-row/date-value.js';

const defaultToleranceDays = 1;

/** Returns a warning, or undefined. The cells are by slot. */
export type RecencyGuard = (cells: readonly Cell[], nowMs: number) => string | undefined;

/**
 * Compiles the guard that warns of records older than those the model was trained on, or dated in the future. It never
 * changes a score, and does not warn of a date that is missing or unreadable.
 * @param manifest a checked manifest
 * @param knownFields compiled from the same manifest
 */
export function compileRecencyGuard(
  manifest: Pick<Manifest, 'features' | 'recency' | 'missing_tokens'>,
  { recencySlot, slotOfFeature }: Pick<KnownFields, 'recencySlot' | 'slotOfFeature'>,
): RecencyGuard {
  const { recency } = manifest;
  if (!recency || recencySlot === undefined) return () => undefined;

  const dateFeature = manifest.features.find(
    (feature, index) => feature.type === 'date' && slotOfFeature[index] === recencySlot,
  );
  const order = dateFeature?.type === 'date' && dateFeature.date_order ? { date_order: dateFeature.date_order } : {};
  const read = compileDateReader(order, compileMissingTexts(manifest.missing_tokens));
  const { field, max_age_days: maxDays, future_tolerance_days: toleranceDays = defaultToleranceDays } = recency;

  return (cells, nowMs) => {
    const cell = cells[recencySlot];
    if (typeof cell !== 'string' && typeof cell !== 'number') return undefined;
    const dateMs = read(cell);
    if (!Number.isFinite(dateMs)) return undefined;
    const ageDays = (nowMs - dateMs) / dayMs;
    if (ageDays > maxDays)
      return `${field} is ${inDays(ageDays, maxDays)} old; this model was trained on records at most ${days(maxDays)} old`;
    if (-ageDays > toleranceDays)
      return `${field} is ${inDays(-ageDays, toleranceDays)} in the future; this model expects at most ${days(toleranceDays)}`;
    return undefined;
  };
}

/** Whole days, rounded down unless the result would be within the limit. */
function inDays(actual: number, limit: number): string {
  const whole = Math.floor(actual);
  return days(whole > limit ? whole : Math.ceil(actual));
}

const days = (count: number): string => `${count} ${count === 1 ? 'day' : 'days'}`;
