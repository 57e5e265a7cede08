import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import { printFigures } from '../../support/faults/fault-figures.js';
import { BulkJob } from '../../support/jobs/bulk-job.js';
import { expectRedisExact, jobFile } from '../../support/jobs/job-checks.js';
import { jobFaultHooks, jobWithinMs, killAtMoment } from '../../support/jobs/job-faults.js';
import { momentOf, type RunnerMoment, runnerSteps } from '../../support/jobs/kill-runner.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';

const rows = 2_300;
const exactWithinMs = 30_000;
/** Steps that only a job of stored leads has. */
const ofStored = { 'the claim of its reading': 'reader', 'the read of stored values': 'segmentId' } as const;

describe('a job of stored leads whose runner is killed at each of its steps', () => {
  const service = jobFaultHooks();
  let own: TestWorkspace;
  let leads: readonly string[];

  before(async function () {
    this.timeout(jobWithinMs);
    own = await workspace(service(), { limit: 1_000_000 });
    const first = await BulkJob.create(own, jobFile(rows).text);
    await first.until('completed', jobWithinMs);
    leads = (await own.predictions()).map(({ crm_id: crmId = '' }) => crmId);
  });

  const createStored = async (): Promise<BulkJob> => {
    const body = { model_id: own.model._id, input: { source: 'stored' } };
    const { text } = await own.call('/v1/jobs', { body });
    return new BulkJob(own, JSON.parse(text).job_id);
  };

  async function expectExact(job: BulkJob): Promise<void> {
    const { settled } = await job.until('completed', jobWithinMs);
    expect(settled).to.include({ rows: leads.length, scored: leads.length, failed: 0, empty: 0 });
    const shown = (await job.cells()).map(([, crmId]) => crmId);
    expect(shown).to.deep.equal(leads.toReversed());
    await eventually(async () => {
      const calls = (await own.ledgerRows()).filter(({ request_id: id }) => id === job.id);
      expect(calls.reduce((sum, { records }) => sum + records, 0)).to.equal(leads.length);
    }, exactWithinMs);
    const blobs = own.service.stores.database.collection<{ _id: string }>('job_blobs');
    expect(await blobs.countDocuments({ _id: { $regex: `^${job.id}\\..*input$` } }), 'inputs left').to.equal(0);
  }

  const momentsOf = (when: 'before' | 'after'): RunnerMoment[] => [
    ...Object.entries(ofStored).map(([step, request]) => ({
      ...momentOf('the write of rows', when),
      ...{ title: `${when} ${step}`, request },
    })),
    ...runnerSteps.map((step) => momentOf(step, when)),
  ];

  for (const when of ['before', 'after'] as const)
    it(`scores and counts each lead once when it dies ${when} each step`, async function () {
      this.timeout(3 * jobWithinMs);
      const beganMs = performance.now();
      const jobs: BulkJob[] = [];
      for (const moment of momentsOf(when)) {
        const killed = killAtMoment(service(), moment);
        jobs.push(await createStored());
        await killed;
      }
      const killedMs = performance.now();
      for (const job of jobs) await expectExact(job);
      for (const job of jobs.slice(0, 1)) await expectRedisExact(job, exactWithinMs);
      printFigures({
        fault: `a runner killed ${when} each step of ${jobs.length} jobs of stored leads`,
        kills_ms: killedMs - beganMs,
        exact_ms: performance.now() - killedMs,
      });
    });
});
