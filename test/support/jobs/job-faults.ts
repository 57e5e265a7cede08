import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { signal } from '../../../scripts/servers/server-process.js';
import type { ServerProxies } from '../../../scripts/servers/slots/server-link.js';
import type { ServiceSlot } from '../../../scripts/servers/slots/service-slot.js';
import { modelStrikesKey } from '../../../shared/redis/keys.js';
import { eventually } from '../eventually.js';
import { type FaultService, faultService } from '../faults/fault-service.js';
import { startTimeoutMs } from '../service/service.js';
import { type TestWorkspace, workspace } from '../service/workspace.js';
import { BulkJob } from './bulk-job.js';
import { expectJobExact, expectRedisExact, type JobFile, jobFile } from './job-checks.js';
import type { RunnerMoment } from './kill-runner.js';

/** Deadline of the calls of slices. A busy machine needs most of it for a slice of 1000 rows. */
const shortDeadlineMs = 2_000;
/**
 * Deadline for jobs with several faults. Slices must not miss it five times in a row: their job would pause for ten
 * minutes.
 */
export const longDeadlineMs = 4_000;
/** A slice of a dead runner settles three leases after its call, and its organisation waits 15 s for a turn. */
export const jobWithinMs = 120_000;
const exactWithinMs = 30_000;
/** A slice that failed three times in a row waits 16 s, after 5 s of earlier waits and its calls. */
const momentWithinMs = 60_000;

/** A job with the file from which it was made. */
export interface FaultyJob {
  readonly title: string;
  readonly job: BulkJob;
  readonly file: JobFile;
}

/**
 * Starts a service for faults of bulk jobs before the tests of a suite, and stops it after them.
 * @returns the service, for the tests
 */
export function jobFaultHooks(options: { readonly deadlineMs?: number } = {}): () => FaultService {
  let service: FaultService | undefined;
  before(async function () {
    this.timeout(startTimeoutMs);
    service = await jobFaultService(options);
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await service?.stop();
  });
  return () => {
    if (service === undefined) throw new Error('the service has not started');
    return service;
  };
}

/** A runner behind proxies, a direct gateway, and short times. */
async function jobFaultService({ deadlineMs = shortDeadlineMs } = {}): Promise<FaultService> {
  const service = await faultService({
    gateways: ['direct'],
    runners: ['proxied'],
    deadlineMs,
    settings: { TEST_TIMINGS_PERCENT: '10' },
  });
  await shortenTransactions(service);
  return service;
}

/**
 * MongoDB ends the transaction of a dead runner after a minute by default. Another one waits that long for its slice.
 */
async function shortenTransactions({ stores }: FaultService): Promise<void> {
  await stores.database.client.db('admin').command({ setParameter: 1, transactionLifetimeLimitSeconds: 3 });
}

/** Kills a server, and starts it on its data. */
async function restartServer(service: FaultService, name: 'redis' | 'mongo'): Promise<void> {
  await service.cluster.kill(name);
  await service.cluster.revive(name);
  if (name === 'mongo') await eventually(() => shortenTransactions(service), startTimeoutMs);
}

/** Kills the pool, and starts another. */
async function replacePool({ cluster }: FaultService): Promise<void> {
  await cluster.killPool(cluster.pool);
  await cluster.startPool();
}

/** Kills the worker that was started last. @returns false if no worker runs */
export function killNewestWorker({ cluster }: FaultService): boolean {
  const newest = cluster.workerPids().at(-1);
  // It may have ended since.
  if (newest !== undefined) signal(newest, 'SIGKILL');
  return newest !== undefined;
}

/** The proxied runner. */
export function firstRunner({ cluster }: FaultService): ServiceSlot & { readonly proxies: ServerProxies } {
  const [slot] = cluster.runners;
  if (slot?.proxies === undefined) throw new Error('the service has no proxied runner');
  return slot as ServiceSlot & { readonly proxies: ServerProxies };
}

export async function startJob(
  service: FaultService,
  {
    title,
    rows,
    own,
    isGzip = false,
  }: { readonly title: string; readonly rows: number; readonly own?: TestWorkspace; readonly isGzip?: boolean },
): Promise<FaultyJob> {
  const file = jobFile(rows);
  const upload = isGzip ? gzipSync(file.text) : file.text;
  const create = async () => BulkJob.create(own ?? (await workspace(service)), upload);
  // MongoDB may die meanwhile, at a moment of an earlier job. Whether the job was created is not known then.
  const job = own === undefined ? await create().catch(create) : await create();
  return { title, file, job };
}

/** The processes and servers that a bulk job needs. Each is killed with SIGKILL, and started again or replaced. */
export const deaths = {
  runner: async (service: FaultService): Promise<void> => {
    const slot = firstRunner(service);
    await slot.kill();
    for (const proxy of [slot.proxies.redis, slot.proxies.mongo]) {
      proxy.forget();
      proxy.cutAll();
    }
    await slot.start();
  },
  worker: async (service: FaultService): Promise<void> => {
    // Two workers that die within a minute with chunks of one version quarantine it for an hour.
    await service.redis.del(modelStrikesKey);
    killNewestWorker(service);
  },
  pool: replacePool,
  gateway: async ({ cluster }: FaultService): Promise<void> => {
    const [gateway] = cluster.gateways;
    await gateway?.kill();
    await gateway?.start();
  },
  Redis: (service: FaultService): Promise<void> => restartServer(service, 'redis'),
  MongoDB: (service: FaultService): Promise<void> => restartServer(service, 'mongo'),
} as const;

/**
 * Kills a part of the service when the runner is at a moment, and starts it again. Earlier jobs go on meanwhile, so the
 * moment may be one of theirs.
 */
export async function killAtMoment(
  service: FaultService,
  { title, server, request, fate }: RunnerMoment,
  victim: keyof typeof deaths = 'runner',
): Promise<void> {
  const { proxies } = firstRunner(service);
  const came = proxies[server].next(request, fate).then(() => true);
  if (!(await Promise.race([came, pause(momentWithinMs, false, { ref: false })])))
    throw new Error(`the moment did not come: ${title}\n${(await service.log()).slice(-2_000)}`);
  // The server executes the request meanwhile.
  if (fate === 'reply-lost') await pause(50);
  await deaths[victim](service);
  proxies[server].release();
}

/** Asserts that jobs complete by themselves and are exact. Otherwise the error has the last warnings of the log. */
export async function expectAllExact(service: FaultService, jobs: readonly FaultyJob[]): Promise<void> {
  for (const { title, job, file } of jobs) {
    try {
      await job.until('completed', jobWithinMs);
      await expectJobExact(job, file, exactWithinMs);
      await expectRedisExact(job, exactWithinMs);
    } catch (error) {
      const lines = (await service.log()).split('\n').filter((line) => /"level":"(warn|error|fatal)"/.test(line));
      throw new Error(`the job of the fault "${title}": ${String(error)}\n${lines.slice(-40).join('\n')}`, {
        cause: error,
      });
    }
  }
}
