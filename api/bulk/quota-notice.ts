import { monthEndMs } from '../../shared/contract/dates.js';
import { countText } from '../../shared/contract/figures.js';
import { stopOf, type UsageReport } from '../../shared/contract/plans.js';
import type { Job } from '../../shared/store/jobs/job-documents.js';

/**
 * Says of a job with more rows than the month has room for: where it will pause, until when, and the way out.
 * @returns undefined if all rows fit
 */
export function quotaNotice(
  { bucket, options }: Pick<Job, 'bucket' | 'options'>,
  rows: number,
  { usage, nowMs }: { readonly usage: UsageReport; readonly nowMs: number },
): string | undefined {
  const roomUntil = (stopAt: typeof options.stop_at): number => Math.max(0, stopOf(usage, stopAt) - usage.current);
  const atBackstop = options.stop_at === 'backstop';
  const room = roomUntil(options.stop_at);
  if (rows <= room) return undefined;
  const stop = bucket === 'test' ? 'cap of test keys' : atBackstop ? 'backstop' : 'limit';
  const day = new Date(monthEndMs(nowMs)).toISOString().slice(0, 10);
  const sentences = [
    `The ${options.stored === undefined ? 'file' : 'job'} has ${countText(rows)} rows, and this month has room for ${countText(room)} records until the ${stop}.`,
    `There the job will pause until the next month begins (${day} UTC).`,
    ...(atBackstop || usage.backstop === null
      ? []
      : [
          `A job with "stop_at": "backstop" (--stop-at backstop) also uses the grace band: it has room for ` +
            `${countText(roomUntil('backstop'))} records.`,
        ]),
    bucket === 'test' ? 'A live key has the limit of the plan' : 'The operator of the service can raise the limit',
  ];
  return sentences.join(' ');
}
