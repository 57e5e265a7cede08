import { usageError } from '../context/cli-error.js';
import type { FileJobOptions } from './file-job.js';
import { idempotencyKeyOf, type JobClient } from './job-client.js';
import type { JobReply } from './job-reply.js';

/** How stored leads are scored again. */
export interface StoredJobOptions
  extends Pick<FileJobOptions, 'model' | 'explain' | 'stopAt' | 'maxErrors' | 'previous' | 'again'> {
  readonly sentWithinDays?: number;
  readonly maxRows?: number;
  readonly format?: 'csv' | 'jsonl';
}

/** Options that only a job of a file has, by their names on the command line. */
const ofFile = { '--crm-id': 'crmId', '--strict': 'strict', '--yes': 'yes' } as const;
/** Options that only a job of stored leads has. */
const ofStored = { '--sent-within-days': 'sentWithinDays', '--max-rows': 'maxRows', '--format': 'format' } as const;

/** @throws CliError for options that do not belong together */
export function requireSource(
  path: string | undefined,
  options: { readonly stored?: boolean } & Readonly<Record<string, unknown>>,
): void {
  const isStored = options.stored === true;
  const others = Object.entries(isStored ? ofFile : ofStored).filter(([, name]) => options[name] !== undefined);
  if (isStored && path !== undefined) throw usageError('A job with --stored has no file. Leave out one of the two');
  if (!isStored && path === undefined) throw usageError('Name a file, or score stored leads again with --stored');
  if (others.length > 0)
    throw usageError(
      `${others.map(([option]) => option).join(', ')} ${isStored ? 'is about a file, and --stored has none' : 'needs --stored'}`,
    );
}

/**
 * Creates the job that scores the leads of a model again. On one UTC day, the same options find it again while the
 * model has the same version.
 * @throws CliError when the service refuses
 */
export async function storedJob(
  client: Pick<JobClient, 'create' | 'modelVersion'>,
  options: StoredJobOptions,
  now: Date,
): Promise<JobReply> {
  const { sentWithinDays: days, maxRows } = options;
  const body = {
    model_id: options.model,
    input: {
      source: 'stored',
      ...(options.format !== undefined && { format: options.format }),
      ...(days !== undefined && { sent_within_days: days }),
      ...(maxRows !== undefined && { max_rows: maxRows }),
    },
    explain: options.explain === true,
    stop_at: options.stopAt,
    max_errors: options.maxErrors,
    previous: options.previous,
  };
  const version = await client.modelVersion(options.model);
  const at = options.again === true ? now.toISOString() : now.toISOString().slice(0, 10);
  return await client.create(body, idempotencyKeyOf({ ...body, version: version ?? null, at }));
}
