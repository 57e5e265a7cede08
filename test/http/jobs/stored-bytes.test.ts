import { expect } from 'chai';
import { maxStoredBytes } from '../../../shared/store/jobs/job-documents.js';
import { refused } from '../../support/http/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { workspace } from '../../support/service/workspace.js';
import { changeJob, inputCall, newJob } from './job-calls.js';

describe('the bytes of uploads of an organisation', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });

  it('are limited over all its jobs, and deleting a job makes room', async () => {
    const [own, other] = [await workspace(service), await workspace(service)];
    const create = async (owner = own): Promise<string> => (await newJob(owner)).job_id;
    const put = (jobId: string, owner = own) =>
      inputCall(owner, jobId, 'PUT', { bytes: Buffer.from('crm_id,company_size\n1,2\n') });
    const [large, small] = [await create(), await create()];
    await changeJob(service, large, { state: 'completed', upload: { bytes: maxStoredBytes(10_000) - 10 } });
    expect(refused(await put(small), '400 bad_request').error.message)
      .to.include(`${maxStoredBytes(10_000)} bytes together`)
      .and.include('delete jobs');
    const head = await own.call(`/v1/jobs/${small}/input`, { method: 'HEAD' });
    expect(head.headers.get('upload-offset')).to.equal('0');
    expect((await put(await create(other), other)).status).to.equal(200);
    expect((await own.call(`/v1/jobs/${large}`, { method: 'DELETE' })).status).to.equal(204);
    expect((await put(small)).status).to.equal(200);
  });

  it('grow with the limit of the plan', () => {
    expect([0, 10_000, 32_768, 65_536, 10_000_000].map((records) => maxStoredBytes(records) / 1024 ** 2)).to.deep.equal(
      [256, 256, 256, 512, 78_125],
    );
  });
});
