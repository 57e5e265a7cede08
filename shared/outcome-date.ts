import { dayMs } from './utc-day.js';

/**
 * Days that a conversion may lie ahead of now: twice the usual horizon, so that a grade can be rehearsed
 * (`leadscore validation run --as-of`). What lies further ahead is a mistake, such as another year.
 */
export const mostDaysAhead = 180;

/**
 * Whether an outcome tells of a conversion that lies too far ahead. Of a lead that has not converted any date will do: it
 * makes no difference to a grade, and CRMs have the day on which they expect an open deal to close.
 * @param nowMs by the service's clock
 */
export const isTooFarAhead = (
  { converted, at }: { readonly converted: boolean; readonly at: Date },
  nowMs: number,
): boolean => converted && at.getTime() - nowMs > mostDaysAhead * dayMs;
