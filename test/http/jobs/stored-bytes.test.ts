import { expect } from 'chai';
import { type Job, maxStoredBytes } from '../../../shared/store/jobs/job-documents.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { workspace } from '../../support/service/workspace.js';

describe('the bytes of uploads of an organisation', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });

  it('are limited over all its jobs, and deleting a job makes room', async () => {
    const [own, other] = [await workspace(service), await workspace(service)];
    const create = async (owner = own): Promise<string> => {
      const reply = await owner.call('/v1/jobs', { method: 'POST', body: { model_id: owner.model._id } });
      return (JSON.parse(reply.text) as { readonly job_id: string }).job_id;
    };
    const put = async (jobId: string, owner = own) => {
      const headers = { authorization: `Bearer ${owner.live.secret}` };
      const body = 'crm_id,company_size\n1,2\n';
      return await fetch(`${service.url()}/v1/jobs/${jobId}/input`, { method: 'PUT', headers, body });
    };
    const [large, small] = [await create(), await create()];
    const jobs = service.stores.database.collection<Job>('jobs');
    const bytes = maxStoredBytes(10_000) - 10;
    await jobs.updateOne({ _id: large }, { $set: { state: 'completed', 'upload.bytes': bytes } });
    const refused = await put(small);
    expect(refused.status).to.equal(400);
    const { error } = (await refused.json()) as { readonly error: { readonly message: string } };
    expect(error.message)
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
