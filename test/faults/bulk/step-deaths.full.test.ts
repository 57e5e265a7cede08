import { seededRandom } from '../../../scripts/leads/seeded-random.js';
import { printFigures } from '../../support/faults/fault-figures.js';
import {
  deaths,
  expectAllExact,
  type FaultyJob,
  jobFaultHooks,
  jobWithinMs,
  killAtMoment,
  longDeadlineMs,
  startJob,
} from '../../support/jobs/job-faults.js';
import { momentOf, runnerSteps } from '../../support/jobs/kill-runner.js';

const seeds = 20;
const rows = 2_300;
const victims = Object.keys(deaths) as (keyof typeof deaths)[];

describe('a bulk job whose processes and servers are killed at each of its steps', () => {
  const service = jobFaultHooks({ deadlineMs: longDeadlineMs });

  // From seed to seed the victims move on by one step, so each of them dies at each step in three seeds or more.
  for (let seed = 1; seed <= seeds; seed += 1)
    it(`scores, shows and counts each row once with seed ${seed}`, async function () {
      this.timeout(4 * jobWithinMs);
      const random = seededRandom(seed);
      const jobs: FaultyJob[] = [];
      const beganMs = performance.now();
      for (const [index, step] of runnerSteps.entries()) {
        const victim = victims[(index + seed) % victims.length] ?? 'runner';
        const moment = momentOf(step, random.pick(['before', 'after']));
        const killed = killAtMoment(service(), moment, victim);
        const title = `${victim} ${moment.title}, seed ${seed}`;
        jobs.push(await startJob(service(), { title, rows, isGzip: moment.storesRows || random.chance(0.5) }));
        await killed;
      }
      const killedMs = performance.now();
      await expectAllExact(service(), jobs);
      printFigures({
        fault: `${jobs.length} deaths during bulk jobs, seed ${seed}`,
        kills_ms: killedMs - beganMs,
        exact_ms: performance.now() - killedMs,
      });
    });
});
