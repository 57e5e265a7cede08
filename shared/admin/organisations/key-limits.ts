import { expiryOf, expiryText } from '../../contract/dates.js';
import { invalid } from '../admin-error.js';

/**
 * The instant from which a key no longer counts.
 * @param text a day, which ends the key at its end (UTC), or a date and time. The schema of the input has checked it
 * @throws AdminError invalid_request for an instant that has passed
 */
export function checkedExpiry(text: string, nowMs: number): Date {
  const at = expiryOf(text);
  if (at === undefined) throw invalid('expires_at', 'must be a date such as 2027-06-30.');
  if (at.getTime() > nowMs) return at;
  throw invalid('expires_at', `must be in the future, and the key would have expired ${expiryText(at)}.`);
}
