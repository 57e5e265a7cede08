import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'bullmq';
import type { Db } from 'mongodb';
import type { Clock } from '../../shared/contract/dates.js';
import { type BundleCheckJob, bundleCheckQueueName } from '../../shared/messages/bundle-check-job.js';
import { errorLog } from '../../shared/process/error-log.js';
import type { Stoppable } from '../../shared/process/lifecycle.js';
import type { Logger } from '../../shared/process/logger.js';
import type { Redis } from '../../shared/redis/connect.js';
import { queuePrefix } from '../../shared/redis/keys.js';
import { type Upload, UploadStore } from '../../shared/store/console/uploads.js';
import { backOffOnOom, closeWorker } from '../lanes/lane-worker.js';
import { type BundleCheck, runCheck } from './run-check.js';

export interface BundleCheckLaneOptions {
  readonly database: Db;
  readonly clock: Clock;
  /** A connection for blocking commands. */
  readonly blocking: Redis;
  readonly logger: Logger;
  /** Limit of one check. */
  readonly timeoutMs?: number;
}

const maxNotes = 20;

/**
 * Checks uploaded bundles, one at a time, each in a process of its own that ends with its check. When it stops it ends
 * the check in hand, which may take minutes; another pool repeats it.
 */
export async function startBundleChecks(options: BundleCheckLaneOptions): Promise<Stoppable> {
  const { blocking, logger } = options;
  const stopping = new AbortController();
  const check = { ...options, signal: stopping.signal };
  const worker = new Worker<BundleCheckJob>(bundleCheckQueueName, ({ data }) => checkUpload(data.uploadId, check), {
    connection: blocking,
    prefix: queuePrefix,
    lockDuration: 30_000,
    runRetryDelay: 250,
  });
  worker.on('error', errorLog(logger, 'bundle check error'));
  backOffOnOom(worker);
  worker.on('failed', (job, error) => logger.warn({ upload: job?.data.uploadId, error }, 'bundle check failed'));
  return {
    name: 'bundle checks',
    stop: async () => {
      stopping.abort();
      await closeWorker(worker, blocking);
    },
  };
}

interface CheckOptions extends BundleCheckLaneOptions {
  /** Ends the check. */
  readonly signal: AbortSignal;
}

/** Checks one upload and stores the result. A check may run twice: the later result is the same. */
async function checkUpload(uploadId: string, options: CheckOptions): Promise<void> {
  const { database, logger } = options;
  const uploads = new UploadStore(database);
  const upload = await uploads.find(uploadId);
  if (upload === undefined || upload.state === 'imported') return;
  const startMs = performance.now();
  const directory = await mkdtemp(join(tmpdir(), 'leadscore-bundle-'));
  try {
    const archive = join(directory, 'bundle.tar.gz');
    await writeFile(archive, await uploads.readFile(upload));
    await uploads.update(upload._id, { state: 'reading' });
    const result = await checkArchive(archive, upload, uploads, options);
    await uploads.update(upload._id, result);
    const ms = Math.round(performance.now() - startMs);
    logger.info({ upload: uploadId, state: result.state, ms }, 'bundle checked');
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/**
 * Checks an archive in a process of its own, and stores that it was read.
 * @throws AbortError when the signal ends the process; MongoDB's error
 */
async function checkArchive(
  archive: string,
  upload: Upload,
  uploads: UploadStore,
  { clock, timeoutMs, signal }: CheckOptions,
): Promise<UploadResult> {
  const stored: Promise<void>[] = [];
  const check = await runCheck({
    ...{ path: archive, nowMs: clock.now(), timeoutMs, signal },
    onRead: ({ manifest, notes }) => {
      const storing = uploads.update(upload._id, { state: 'scoring', manifest, notes: notes.slice(0, maxNotes) });
      // An error of `storing` is thrown after the process has ended. Unhandled until then, it would end the pool.
      storing.catch(() => undefined);
      stored.push(storing);
    },
  });
  await Promise.all(stored);
  return resultOf(check);
}

type UploadResult = Partial<Upload> & Pick<Upload, 'state'>;

function resultOf({ read, result }: BundleCheck): UploadResult {
  if ('problem' in result) return { state: 'failed', problem: result.problem };
  const { golden, explainMethod: explain_method, contributions, fallbackReason } = result;
  const because =
    fallbackReason === undefined ? [] : [`The model is explained by occlusion, because ${fallbackReason}.`];
  const notes = [...because, ...result.notes, ...(read?.notes ?? [])].slice(0, maxNotes);
  const found = { explain_method, contributions, notes };
  if (golden === undefined) return { state: 'passed', ...found };
  const { records, passed, differences, scoreMismatches, likelihoodMismatches } = golden;
  const differing = Math.max(differences.length, scoreMismatches, likelihoodMismatches);
  const counts = { ...found, golden: { records, matching: records - differing } };
  if (passed) return { state: 'passed', ...counts };
  const problem = `Its results differ from its golden records: ${differences[0] ?? 'see model check'}.`;
  return { state: 'failed', problem, ...counts };
}
