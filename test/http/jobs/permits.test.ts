import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import { refused } from '../../support/http/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { workspace } from '../../support/service/workspace.js';
import { holdDownloads, holdUploads } from './held-transfers.js';
import { newJob, settleSlices } from './job-calls.js';

describe('the permits of a gateway for long transfers', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });

  it('are eight downloads for an organisation, and leave some to others', async () => {
    const [greedy, other] = await Promise.all([workspace(service), workspace(service)]);
    const held = await holdDownloads(greedy, 8);
    for (const own of [greedy, other]) {
      const { job_id: jobId } = await newJob(own);
      await settleSlices(service, jobId, [{ results: '1\n', errors: '' }]);
      const reply = await own.call(`/v1/jobs/${jobId}/results`, { gateway: 0 });
      if (own === greedy) refused(reply, '429 job_limit_exceeded');
      else expect(reply.status).to.equal(200);
    }
    await held.end();
  });

  it('are four uploads for an organisation, and leave some to others', async () => {
    const [greedy, other] = await Promise.all([workspace(service), workspace(service)]);
    const held = await holdUploads(greedy, 4);
    for (const own of [greedy, other]) {
      const { job_id: jobId } = await newJob(own);
      const call = { method: 'PUT', body: 'a\n1\n', gateway: 0 } as const;
      const reply = await own.call(`/v1/jobs/${jobId}/input`, call);
      if (own === other) {
        expect(reply.status).to.equal(200);
        continue;
      }
      refused(reply, '429 job_limit_exceeded');
      expect(reply.headers.get('retry-after')).to.equal('5');
    }
    await held.end();
  });

  it('are eight uploads for all organisations', async () => {
    const holders = await Promise.all([workspace(service), workspace(service)]);
    const held = await Promise.all(holders.map((own) => holdUploads(own, 4)));
    const third = await workspace(service);
    const { job_id: jobId } = await newJob(third);
    const call = { method: 'PUT', body: 'a\n1\n', gateway: 0 } as const;
    const reply = await third.call(`/v1/jobs/${jobId}/input`, call);
    refused(reply, '429 job_limit_exceeded');
    expect(reply.headers.get('retry-after')).to.equal('5');
    for (const each of held) await each.end();
    await eventually(async () => expect((await third.call(`/v1/jobs/${jobId}/input`, call)).status).to.equal(200));
  });
});
