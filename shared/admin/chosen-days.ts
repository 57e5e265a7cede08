import { dayNumber } from '../contract/dates.js';
import { invalid } from './admin-error.js';
import { dayStart } from './day-start.js';

/** Three months. As many days before them are read too. */
const mostDays = 92;
const usualDays = 30;

/** Days by their numbers, both ends included. */
export interface Days {
  readonly first: number;
  readonly last: number;
}

/** Chosen days, and the same number of days before. */
export interface ChosenDays extends Days {
  /** Absent when the organisation is younger than all of them. */
  readonly earlier?: Days;
}

/**
 * The days that a request names. Without days the last 30. Days that have not begun are left out.
 * @throws AdminError invalid_request for days that are not in the calendar, in a wrong order, too many, or to come
 */
export function chosenDays(
  { from, to }: { readonly from: string | undefined; readonly to: string | undefined },
  of: { readonly nowMs: number; readonly createdAt: Date },
): ChosenDays {
  const today = dayNumber(of.nowMs);
  const last = to === undefined ? today : Math.min(dayOf('to', to), today);
  const first = from === undefined ? last - usualDays + 1 : dayOf('from', from);
  if (first > today) throw invalid('from', 'must be today or earlier.');
  if (last < first) throw invalid('to', 'must not be before `from`.');
  if (last - first >= mostDays) throw invalid('to', `must be at most ${mostDays - 1} days after \`from\`.`);
  const earlier = { first: first - (last - first + 1), last: first - 1 };
  const isYoung = dayNumber(of.createdAt.getTime()) > earlier.last;
  return { first, last, ...(isYoung ? {} : { earlier }) };
}

const dayOf = (member: string, day: string): number => dayNumber(dayStart(member, day).getTime());
