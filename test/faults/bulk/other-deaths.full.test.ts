import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import { printFigures } from '../../support/faults/fault-figures.js';
import {
  deaths,
  expectAllExact,
  type FaultyJob,
  firstRunner,
  jobFaultHooks,
  jobWithinMs,
  killNewestWorker,
  longDeadlineMs,
  startJob,
} from '../../support/jobs/job-faults.js';

const rows = 8_300;
/** A runner that is frozen for longer than a lease has lost its turns and its leases. */
const longFreezeMs = 4 * longDeadlineMs;

describe('a bulk job', () => {
  const service = jobFaultHooks({ deadlineMs: longDeadlineMs });

  const faults: Readonly<Record<string, () => Promise<unknown>>> = {
    'a bulk worker is killed': async () => expect(killNewestWorker(service())).to.equal(true),
    'the pool is killed and replaced': () => deaths.pool(service()),
    'a gateway is killed and replaced': () => deaths.gateway(service()),
    'Redis is killed and started on its data': () => deaths.Redis(service()),
    'Redis is killed and started with nothing': async () => {
      await service().cluster.kill('redis');
      await service().cluster.loseData('redis');
      await service().cluster.revive('redis');
    },
    'MongoDB is killed and started on its data': () => deaths.MongoDB(service()),
    'its runner is replaced (SIGTERM)': async () => {
      const slot = firstRunner(service());
      expect(await slot.terminate()).to.equal('exit code 0');
      await slot.start();
    },
    'its runner is cut off from Redis and MongoDB': async () => {
      const { proxies } = firstRunner(service());
      proxies.redis.cutAll();
      proxies.mongo.cutAll();
    },
  };

  /** Waits until a job has recorded a slice, and has others to score. */
  const untilHalfDone = ({ job }: FaultyJob): Promise<void> =>
    eventually(async () => {
      const slices = await job.allSlices();
      expect(slices.some(({ outcome }) => outcome !== undefined)).to.equal(true);
    }, jobWithinMs);

  it('scores, shows and counts each row once while its processes and servers die', async function () {
    this.timeout(2 * jobWithinMs);
    const jobs: FaultyJob[] = [];
    for (const [title, cause] of Object.entries(faults)) {
      const job = await startJob(service(), { title, rows });
      jobs.push(job);
      await untilHalfDone(job);
      await cause();
    }
    const causedMs = performance.now();
    await expectAllExact(service(), jobs);
    printFigures({ fault: `${jobs.length} faults during bulk jobs`, exact_ms: performance.now() - causedMs });
  });

  it('is exact when its runner is frozen for longer than a lease, and thawed after another took over', async function () {
    this.timeout(2 * jobWithinMs);
    const slot = firstRunner(service());
    const jobs: FaultyJob[] = [];
    const recording = slot.proxies.mongo.next('request_id', 'held');
    jobs.push(await startJob(service(), { title: 'frozen before a record', rows }));
    await recording;
    slot.freeze();
    const other = await service().cluster.addRunner('direct');
    jobs.push(await startJob(service(), { title: 'beside a frozen runner', rows }));
    await pause(longFreezeMs);
    await eventually(
      async () => expect((await jobs[0]?.job.allSlices())?.[0]?.outcome).to.not.equal(undefined),
      jobWithinMs,
    );
    slot.thaw();
    slot.proxies.mongo.release();
    await expectAllExact(service(), jobs);
    await other.close();
  });
});
