import { invalid } from './admin-error.js';

/**
 * The first instant (UTC) of a day in the form `YYYY-MM-DD`.
 * @param member the input member that names it
 * @throws AdminError invalid_request for a day that is not in the calendar, or before 1970
 */
export function dayStart(member: string, day: string): Date {
  const at = new Date(`${day}T00:00:00Z`);
  // `Date` reads 31 April as 1 May.
  if (!(at.getTime() >= 0) || at.toISOString().slice(0, 10) !== day)
    throw invalid(member, 'must be a day such as 2026-11-30.');
  return at;
}
