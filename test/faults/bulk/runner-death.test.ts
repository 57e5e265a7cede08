import { printFigures } from '../../support/faults/fault-figures.js';
import { expectAllExact, jobFaultHooks, jobWithinMs, killAtMoment, startJob } from '../../support/jobs/job-faults.js';
import { momentOf, type RunnerStep, runnerSteps } from '../../support/jobs/kill-runner.js';
import { itInFull } from '../../support/tier.js';

const rows = 2_300;
/** One of reading, of recording and of settling. */
const ofFirstTier: readonly RunnerStep[] = ['the write of slices', 'a commit', 'the settling of a slice'];

describe('a runner of bulk jobs that is killed', () => {
  const service = jobFaultHooks();

  const killAtSteps = async (steps: readonly RunnerStep[], when: 'before' | 'after'): Promise<void> => {
    const beganMs = performance.now();
    const jobs = [];
    for (const step of steps) {
      const moment = momentOf(step, when);
      const killed = killAtMoment(service(), moment);
      jobs.push(await startJob(service(), { title: moment.title, rows, isGzip: moment.storesRows }));
      await killed;
    }
    const killedMs = performance.now();
    await expectAllExact(service(), jobs);
    printFigures({
      fault: `a runner of bulk jobs killed ${when} each of ${steps.length} steps`,
      kills_ms: killedMs - beganMs,
      exact_ms: performance.now() - killedMs,
    });
  };

  itInFull('before each step of a job: each row is scored, shown and counted once', async function () {
    this.timeout(2 * jobWithinMs);
    await killAtSteps(runnerSteps, 'before');
  });

  it('after a step of each phase, before it knows: each row is scored, shown and counted once', async function () {
    this.timeout(2 * jobWithinMs);
    await killAtSteps(ofFirstTier, 'after');
  });

  itInFull('after each other step, before it knows: each row is scored, shown and counted once', async function () {
    this.timeout(2 * jobWithinMs);
    const others = runnerSteps.filter((step) => !ofFirstTier.includes(step));
    await killAtSteps(others, 'after');
  });
});
