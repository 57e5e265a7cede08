import { monthOf } from '../contract/dates.js';
import type { UsageBucket } from '../redis/keys.js';
import type { QuotaCommands } from './commands.js';

const clockToleranceMs = 10 * 60 * 1_000;

/**
 * Whether calls of an organisation hold records, in this month or one that began or ends within minutes.
 * @throws the error of Redis
 */
export async function hasCallsInFlight(
  commands: Pick<QuotaCommands, 'read'>,
  organisationId: string,
  nowMs: number,
): Promise<boolean> {
  const months = new Set([nowMs - clockToleranceMs, nowMs, nowMs + clockToleranceMs].map(monthOf));
  const read = (bucket: UsageBucket) => [...months].map((month) => commands.read({ organisationId, bucket, month }));
  const found = await Promise.all([...read('live'), ...read('test')]);
  return found.some(({ leased }) => leased > 0);
}
