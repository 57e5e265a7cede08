import { setTimeout as pause } from 'node:timers/promises';
import { seededRandom } from '../../../scripts/leads/seeded-random.js';
import { signal } from '../../../scripts/servers/server-process.js';
import { eventually } from '../../support/eventually.js';
import { printFigures } from '../../support/faults/fault-figures.js';
import type { FaultService } from '../../support/faults/fault-service.js';
import {
  expectAllExact,
  type FaultyJob,
  firstRunner,
  jobFaultService,
  jobWithinMs,
  shortenTransactions,
  startJob,
} from '../../support/jobs/job-faults.js';
import { startTimeoutMs } from '../../support/service/service.js';

const seeds = 20;
const killsPerSeed = 3;
const rows = 6_300;
/** Slices must not miss it five times in a row on a busy machine: their job would pause for ten minutes. */
const deadlineMs = 4_000;

describe('a bulk job under random kills', () => {
  let service: FaultService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await jobFaultService({ deadlineMs });
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await service?.stop();
  });

  /** Two workers that die within a minute with chunks of one version quarantine it for an hour, so only one is killed. */
  const killWorker = async (): Promise<void> => {
    const newest = service.cluster.workerPids().at(-1);
    // It may have ended since.
    if (newest !== undefined) signal(newest, 'SIGKILL');
  };
  const otherKills: readonly (() => Promise<unknown>)[] = [
    async () => {
      const slot = firstRunner(service);
      await slot.end('SIGKILL');
      await slot.start();
    },
    async () => {
      await service.cluster.killPool(service.cluster.pool);
      await service.cluster.startPool();
    },
    async () => {
      await service.cluster.kill('redis');
      await service.cluster.revive('redis');
    },
    async () => {
      await service.cluster.kill('mongo');
      await service.cluster.revive('mongo');
      await eventually(() => shortenTransactions(service), startTimeoutMs);
    },
  ];

  for (let seed = 1; seed <= seeds; seed += 1)
    it(`scores, shows and counts each row once with seed ${seed}`, async function () {
      this.timeout(2 * jobWithinMs);
      const random = seededRandom(seed);
      const jobs: FaultyJob[] = [await startJob(service, { title: `seed ${seed}`, rows })];
      const beganMs = performance.now();
      let isWorkerDead = false;
      for (let count = 0; count < killsPerSeed; count += 1) {
        await pause(random.integer(0, 1_500));
        const kill: () => Promise<unknown> = random.pick(isWorkerDead ? otherKills : [...otherKills, killWorker]);
        isWorkerDead ||= kill === killWorker;
        await kill();
      }
      await expectAllExact(jobs);
      printFigures({ fault: `${killsPerSeed} random kills, seed ${seed}`, exact_ms: performance.now() - beganMs });
    });
});
