import { expiryOf, expiryText } from '../../contract/dates.js';
import type { AdminContext } from '../action.js';
import { AdminError, invalid } from '../admin-error.js';

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

/**
 * Refuses limits of a key while a process runs that would ignore them. Without Redis, it is not known which ones run.
 * @throws AdminError older_processes
 */
export async function refuseForOlderProcesses({ redis }: Pick<AdminContext, 'redis'>): Promise<void> {
  // Imported here: commands that fail on their arguments need no Redis.
  const { olderProcesses, ProcessRegister } = await import('../../redis/process-register.js');
  const noted = await redis()
    .then((connection) => new ProcessRegister(connection).list())
    .catch(() => []);
  const older = olderProcesses(noted.filter(({ kind }) => kind === 'gateway' || kind === 'bulk'));
  if (older.length === 0) return;
  throw new AdminError(
    'older_processes',
    `Processes of an earlier release are running, which would ignore scopes and expiry: ${older.join(', ')}. Replace ` +
      'them by this release, wait 35 seconds, and try again.',
  );
}
