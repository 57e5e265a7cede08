import { useLocation } from 'preact-iso';
import type { usageDaysOutput } from '../../../../shared/admin/schemas/usage.js';
import type { ShapeOf } from '../../../../shared/contract/schema.js';
import { useOrganisation } from './session.js';
import { type Loaded, useLoad } from './use-load.js';

/** Two UTC days, `YYYY-MM-DD`, both included. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/** Usage of the days of a range, with the days before and with what happened. */
export type UsageDays = ShapeOf<typeof usageDaysOutput>;

const isDay = (text: string | undefined): text is string => text !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(text);

/**
 * The days that the address of the page names, so that a link shows the same days.
 * @param usual without days in the address
 */
export function useRange<Usual extends DayRange | undefined>(
  usual: Usual,
): readonly [range: DayRange | Usual, set: (range: DayRange | undefined) => void] {
  const { path, query, route } = useLocation();
  const { from, to } = query;
  const set = (range: DayRange | undefined) => {
    const { from: _from, to: _to, ...others } = query;
    const all = new URLSearchParams({ ...others, ...range });
    route(all.size === 0 ? path : `${path}?${all}`);
  };
  return [isDay(from) && isDay(to) ? { from, to } : usual, set];
}

export function useUsageDays({ from, to }: DayRange): Loaded<UsageDays> {
  const { api } = useOrganisation();
  return useLoad<UsageDays>(`${api}/usage/days?from=${from}&to=${to}`);
}
