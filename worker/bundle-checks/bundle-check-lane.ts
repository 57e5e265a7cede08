import { fork } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'bullmq';
import type { Db } from 'mongodb';
import { workerEnvironment } from '../../shared/config/config.js';
import type { Clock } from '../../shared/contract/dates.js';
import {
  type BundleCheckJob,
  type BundleCheckMessage,
  bundleCheckQueueName,
} from '../../shared/messages/bundle-check-job.js';
import { errorLog } from '../../shared/process/error-log.js';
import type { Stoppable } from '../../shared/process/lifecycle.js';
import type { Logger } from '../../shared/process/logger.js';
import type { Redis } from '../../shared/redis/connect.js';
import { queuePrefix } from '../../shared/redis/keys.js';
import { type Upload, UploadStore } from '../../shared/store/console/uploads.js';
import { backOffOnOom, closeWorker } from '../lanes/lane-worker.js';

export interface BundleCheckLaneOptions {
  readonly database: Db;
  readonly clock: Clock;
  /** A connection for blocking commands. */
  readonly blocking: Redis;
  readonly logger: Logger;
  /** Limit of one check. */
  readonly timeoutMs?: number;
}

const maxCheckMs = 2 * 60 * 1000;

/**
 * Checks uploaded bundles, one at a time, each in a process of its own that ends with its check. When it stops it ends the
 * check in hand, which may take minutes; another pool repeats it.
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
    const result = await runCheck(archive, upload, uploads, options);
    await uploads.update(upload._id, result);
    const ms = Math.round(performance.now() - startMs);
    logger.info({ upload: uploadId, state: result.state, ms }, 'bundle checked');
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/**
 * Runs the process. A process that crashes or hangs fails the bundle.
 * @throws AbortError when the signal ends the process; MongoDB's error
 */
async function runCheck(
  archive: string,
  upload: Upload,
  uploads: UploadStore,
  { clock, timeoutMs = maxCheckMs, signal }: CheckOptions,
): Promise<Partial<Upload> & Pick<Upload, 'state'>> {
  const program = new URL('./check-process.js', import.meta.url);
  const child = fork(program, [archive, String(clock.now())], {
    env: workerEnvironment(),
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    signal,
    killSignal: 'SIGKILL',
  });
  let result: (Partial<Upload> & Pick<Upload, 'state'>) | undefined;
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    child.kill('SIGKILL');
  }, timeoutMs);
  const stored: Promise<void>[] = [];
  child.on('message', (message: BundleCheckMessage) => {
    if (message.kind === 'failed') result = { state: 'failed', problem: message.problem };
    else if (message.kind === 'read') {
      const { manifest, notes } = message;
      const storing = uploads.update(upload._id, { state: 'scoring', manifest, notes });
      // Its error is thrown after the process has ended. Unhandled until then, it would end the pool.
      storing.catch(() => undefined);
      stored.push(storing);
    } else {
      const { golden, problem, explainMethod: explain_method, contributions, notes } = message;
      const found = { explain_method, contributions, notes, ...(golden === null ? {} : { golden }) };
      result = problem === null ? { state: 'passed', ...found } : { state: 'failed', problem, ...found };
    }
  });
  const how = await new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    // Not `exit`, which may come before the last message.
    child.once('close', (code, killedBy) => resolve(killedBy ?? `exit code ${code}`));
  }).finally(() => clearTimeout(timer));
  await Promise.all(stored);
  if (result !== undefined) return result;
  const problem = isLate
    ? `The check took longer than ${timeoutMs / 1000} seconds.`
    : `The model ended the process that checked it (${how}).`;
  return { state: 'failed', problem };
}
