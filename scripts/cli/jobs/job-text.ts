import type { ReplyUsage } from '../calls/api-reply.js';
import { readInputSummary } from '../output/input-summary.js';
import { inputTable } from '../output/input-table.js';
import { countText, readableBytes, readableDate, readableDuration } from '../output/readable-numbers.js';
import { type Columns, renderFields, tableOf } from '../output/table.js';
import { type JobReply, rowsDone, shareDone } from './job-reply.js';

/**
 * The members of a job as text, and below them how the fields of its rows were read.
 * @param more further lines, such as where the results are
 */
export function jobText(
  job: JobReply,
  { width, more = [] }: { readonly width: number; readonly more?: readonly (readonly [string, string])[] },
): string {
  const { usage, validation, expires_at: expiresAt } = job;
  const input = readInputSummary(job);
  const fields = renderFields(
    [
      ['Job', job.job_id],
      ['State', job.state],
      [
        'Model',
        job.model_id && [job.model_id, job.model_version].filter((part) => part !== undefined).join(' version '),
      ],
      ['Created', job.created_at && instantText(job.created_at)],
      ['File', fileText(job)],
      ['Leads', leadsText(job)],
      ['Rows', rowsText(job)],
      ['Pace', paceText(job)],
      ['Paused', job.pause && pauseText(job.pause)],
      ['Failure', job.error && failureText(job.error)],
      ['Notices', job.notices?.join('\n')],
      ['Usage', usage && usageText(usage)],
      ['Validation', validation?.summary],
      ...more,
      ['Kept until', expiresAt && instantText(expiresAt)],
    ],
    { width },
  );
  const table = input === undefined ? '' : inputTable(input, { width });
  return table === '' ? fields : `${fields}\n\n${table}`;
}

/** A table of jobs, one a line. The reasons of pauses have a column if there is one. */
export function jobsTable(
  jobs: readonly Pick<JobReply, 'job_id' | 'state' | 'model_id' | 'created_at' | 'progress' | 'pause'>[],
  { width }: { readonly width: number },
): string {
  const isAnyPaused = jobs.some(({ pause }) => pause !== undefined);
  const columns: Columns<(typeof jobs)[number]> = [
    ['Job', (job) => job.job_id, 'whole'],
    ['State', ({ state }) => state, 'whole'],
    ['Rows', ({ progress }) => (progress?.rows == null ? '-' : countText(progress.rows)), 'right'],
    ['Scored', ({ progress }) => countText(progress?.scored ?? 0), 'right'],
    ['Failed', ({ progress }) => countText(progress?.failed ?? 0), 'right'],
    ['Created', (job) => job.created_at?.slice(0, 10) ?? '-', 'whole'],
    ...(isAnyPaused ? [['Paused', ({ pause }: (typeof jobs)[number]) => pause?.reason ?? '', 'whole'] as const] : []),
  ];
  return tableOf(jobs, columns, { width });
}

/** Pauses that only a person ends. All others end once their cause is gone. */
const endedByPeople: ReadonlySet<string> = new Set(['requested', 'too_many_errors']);

/** Why a job is paused, and when or how it goes on. */
export function pauseText({ reason, message, resumes_at: resumesAt }: NonNullable<JobReply['pause']>): string {
  const end = endedByPeople.has(reason)
    ? 'It goes on after `job resume`.'
    : resumesAt === undefined
      ? 'It goes on by itself when the cause is gone.'
      : `It goes on at ${instantText(resumesAt)} UTC, or ${earlier(reason)}.`;
  return `${sentence(message)} ${end} (${reason})`;
}

const earlier = (reason: string): string =>
  reason === 'quota_exceeded' ? 'when the operator raises the limit of the month' : 'earlier if the cause is gone';

/** Why a job failed, with the position in the file unless the message names it. */
function failureText({ message, line, column }: NonNullable<JobReply['error']>): string {
  const position = [line && `line ${line}`, column && `column ${column}`].filter((part) => part).join(', ');
  return position === '' || message.includes(`line ${line}`) ? sentence(message) : `${sentence(message)} (${position})`;
}

/** An instant of the API, in UTC. */
export function instantText(text: string): string {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? text : readableDate(date);
}

const sentence = (text: string): string => (/[.!?]$/.test(text.trim()) ? text.trim() : `${text.trim()}.`);

function leadsText({ input }: JobReply): string | undefined {
  if (input?.source !== 'stored') return undefined;
  const { sent_within_days: days = 0, max_rows: rows = 0 } = input;
  return `stored ones that were sent within ${countText(days)} days, at most ${countText(rows)}`;
}

function fileText({ input }: JobReply): string | undefined {
  if (input?.source === 'stored') return undefined;
  const received = input?.bytes_received;
  if (received === undefined) return input?.format;
  const of = input?.bytes === undefined || input.bytes === received ? '' : ` of ${readableBytes(input.bytes)}`;
  return `${input?.format ?? 'file'}, ${readableBytes(received)}${of} received`;
}

function rowsText(job: JobReply): string | undefined {
  const { progress } = job;
  const rows = progress?.rows;
  if (progress === undefined || rows === null || rows === undefined) return undefined;
  const { scored, failed, empty } = progress;
  const fates = [
    `${countText(scored)} scored`,
    failed === 0 ? undefined : `${countText(failed)} failed`,
    empty === 0 ? undefined : `${countText(empty)} empty`,
  ].filter((fate) => fate !== undefined);
  const share = rowsDone(job) === rows ? '' : ` (${Math.floor(100 * (shareDone(job) ?? 0))} %)`;
  return `${countText(rows)}: ${fates.join(', ')}${share}`;
}

function paceText(job: JobReply): string | undefined {
  if (job.state !== 'running') return undefined;
  const { rows_per_second: perSecond, seconds_left: left } = job.progress ?? {};
  if (perSecond === undefined || perSecond === null) return undefined;
  const pace = `${countText(Math.round(perSecond))} rows/s`;
  return left === undefined || left === null ? pace : `${pace}, ${readableDuration(1000 * left)} left`;
}

/** The usage of the month in words. */
function usageText({ current, limit, remaining, backstop }: ReplyUsage): string {
  const used = `${countText(current)} of ${countText(limit)} this month`;
  if (remaining >= 0) return `${used}, ${countText(remaining)} left`;
  const stop = backstop === null ? '' : `, hard stop at ${countText(backstop)}`;
  return `${used}, ${countText(-remaining)} into the grace band${stop}`;
}
