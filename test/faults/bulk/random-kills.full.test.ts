import { setTimeout as pause } from 'node:timers/promises';
import { seededRandom } from '../../../scripts/leads/seeded-random.js';
import { printFigures } from '../../support/faults/fault-figures.js';
import {
  expectAllExact,
  type FaultyJob,
  firstRunner,
  jobFaultHooks,
  jobWithinMs,
  killNewestWorker,
  longDeadlineMs,
  replacePool,
  restartServer,
  startJob,
} from '../../support/jobs/job-faults.js';

const seeds = 20;
const killsPerSeed = 3;
const rows = 6_300;

describe('a bulk job under random kills', () => {
  const service = jobFaultHooks({ deadlineMs: longDeadlineMs });

  /** Two workers that die within a minute with chunks of one version quarantine it for an hour, so only one is killed. */
  const killWorker = async (): Promise<unknown> => killNewestWorker(service());
  const otherKills: readonly (() => Promise<unknown>)[] = [
    async () => {
      const slot = firstRunner(service());
      await slot.end('SIGKILL');
      await slot.start();
    },
    () => replacePool(service()),
    () => restartServer(service(), 'redis'),
    () => restartServer(service(), 'mongo'),
  ];

  for (let seed = 1; seed <= seeds; seed += 1)
    it(`scores, shows and counts each row once with seed ${seed}`, async function () {
      this.timeout(2 * jobWithinMs);
      const random = seededRandom(seed);
      const jobs: FaultyJob[] = [await startJob(service(), { title: `seed ${seed}`, rows })];
      const beganMs = performance.now();
      let isWorkerDead = false;
      for (let count = 0; count < killsPerSeed; count += 1) {
        await pause(random.integer(0, 1_500));
        const kill: () => Promise<unknown> = random.pick(isWorkerDead ? otherKills : [...otherKills, killWorker]);
        isWorkerDead ||= kill === killWorker;
        await kill();
      }
      await expectAllExact(service(), jobs);
      printFigures({ fault: `${killsPerSeed} random kills, seed ${seed}`, exact_ms: performance.now() - beganMs });
    });
});
