import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { inputCall, type JobBody, jobOf, newJob } from './job-calls.js';

interface Summary {
  readonly records: number;
  readonly fields: readonly { readonly examples?: unknown }[];
  readonly ignored: readonly object[];
}
type Summed = JobBody & { readonly input_summary?: Summary; readonly strict?: boolean };

const misspelt = { name: 'Lead Sorce', did_you_mean: 'lead_source' };

describe('the summary of the input of a bulk job', () => {
  let service: RunningService;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedService('bulk');
    own = await workspace(service);
  });

  const read = async (id: string): Promise<Summed> => jobOf(await own.call(`/v1/jobs/${id}`));

  /** Scores a file. @returns the job at its end */
  async function scored(text: string, body: object, state: string): Promise<Summed> {
    const { job_id: id } = await newJob(own, body);
    jobOf(await inputCall(own, id, 'PUT', { bytes: Buffer.from(text) }));
    await eventually(async () => expect((await read(id)).state).to.equal(state), 60_000);
    return await read(id);
  }

  /** The summary of the same records as a batch, without its examples. */
  async function ofBatch(records: readonly object[]): Promise<Summary> {
    const body = { model_id: own.model._id, records, input_report: 'summary' };
    const { status, text } = await own.call('/v1/score', { body });
    expect(status, text).to.equal(200);
    const { input_summary: summary } = JSON.parse(text) as { readonly input_summary: Summary };
    return { ...summary, fields: summary.fields.map(({ examples: _, ...field }) => field) };
  }

  const leads = Array.from({ length: 1_000 }, (_, row) => ({
    crm_id: `S-${row}`,
    company_size: row % 10 === 0 ? 'many' : row % 7 === 0 ? '' : String(row),
    'Lead Sorce': 'Referral',
    Remark: 'x',
    demo_requested: 'true',
  }));

  it('is that of a batch of the same records without examples, and leaves out rows that failed', async function () {
    this.timeout(90_000);
    const names = Object.keys(leads[0] ?? {});
    const lines = leads.map((lead) => Object.values(lead).join(','));
    const job = await scored(`${names.join(',')}\n${lines.join('\n')}\nfailed,many,x,x,true,x\n`, {}, 'completed');
    expect(job.progress).to.include({ rows: 1_001, scored: 1_000, failed: 1 });
    const whole = await ofBatch(leads);
    expect(job.input_summary).to.deep.equal(whole);
    expect(whole.fields).to.deep.include({
      ...{ field: 'company_size', sent: 872, unread: 100, unseen: 0, reason: 'expected a number' },
    });
    expect(whole.ignored[0]).to.deep.equal({ ...misspelt, records: 1_000 });
    const { jobs } = JSON.parse((await own.call('/v1/jobs')).text) as { readonly jobs: readonly Summed[] };
    expect(jobs.find(({ job_id }) => job_id === job.job_id)).to.not.have.property('input_summary');
  });

  it('counts the members of JSON Lines that the model does not know, over all slices', async function () {
    this.timeout(90_000);
    const records = Array.from({ length: 2_500 }, (_, row) => ({
      company_size: row,
      ...(row % 2 === 0 && { 'Lead Sorce': 'Referral' }),
      ...(row >= 2_000 && { Late: 1 }),
    }));
    const text = records.map((record) => JSON.stringify(record)).join('\n');
    const { input_summary: summary } = await scored(text, { input: { format: 'jsonl' } }, 'completed');
    expect(summary?.records).to.equal(2_500);
    expect(summary?.ignored).to.deep.equal([
      { ...misspelt, records: 1_250 },
      { name: 'Late', records: 500 },
    ]);
  });

  it('is missing from a strict job with an unknown column, which fails and counts nothing', async function () {
    this.timeout(90_000);
    const before = await own.ledgerSum();
    const csv = await scored('company_size,Lead Sorce\n1,a\n', { strict: true }, 'failed');
    const end = 'Nothing was scored or counted, because the job is strict';
    const remedy = 'or create the job without "strict"';
    expect(csv.error?.message).to.equal(
      `Unknown to the model: 1 column, "Lead Sorce" (perhaps "lead_source"). ${end}. Rename or remove each column, ${remedy}`,
    );
    expect(csv).to.deep.include({ strict: true });
    expect(csv.error?.line).to.equal(1);
    expect(csv).to.not.have.property('input_summary');
    const jsonl = { strict: true, input: { format: 'jsonl' } };
    const lines = await scored('{"company_size":1}\n{"company_size":1,"Remark":2}\n', jsonl, 'failed');
    expect(lines.error?.message).to.equal(
      `Unknown to the model: 1 key, "Remark". ${end}. Rename or remove each key, ${remedy}`,
    );
    expect(await own.ledgerSum()).to.equal(before);
    await scored('crm_id,company_size,lead_source\nk,1,Referral\n', { strict: true }, 'completed');
  });
});
