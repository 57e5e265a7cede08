import { expect } from 'chai';
import { setModel } from '../../../shared/admin/models/change-models.js';
import { setOrganisation } from '../../../shared/admin/organisations/change-organisations.js';
import {
  jobFailuresOutput,
  jobPageSchema,
  listJobsOutput,
  previewJobOutput,
} from '../../../shared/admin/schemas/jobs.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { callIdGenerator, jobIdOf } from '../../../shared/contract/identifiers.js';
import { createJob } from '../../../shared/store/jobs/create-job.js';
import type { Job } from '../../../shared/store/jobs/job-documents.js';
import type { Model } from '../../../shared/store/models/models.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { expectShape } from '../../support/admin/admin-desk.js';
import type { Caller, ConsoleReply, ConsoleService } from '../../support/admin/console-service.js';
import { pieceHeaders } from '../../support/admin/job-routes.js';
import { sharedConsoleWithBulk } from '../../support/admin/shared-console.js';
import { eventually } from '../../support/eventually.js';
import { sampleJob } from '../../support/jobs/sample-job.js';
import { sampleAnswer } from '../../support/models/sample-answer.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { startTimeoutMs } from '../../support/service/service.js';

const maxJobMs = 60_000;
const newCallId = callIdGenerator();
const fingerprint = 'a'.repeat(64);

describe('bulk jobs in the console', () => {
  let service: ConsoleService;
  let organisationId: string;
  let model: Model;
  let admin: Caller & { readonly cookie: string };

  before(async function () {
    this.timeout(3 * startTimeoutMs);
    service = await sharedConsoleWithBulk();
    organisationId = await service.newOrganisation();
    model = await newModel(organisationId);
    admin = await service.signIn('admin', organisationId);
  });

  const newModel = (org: string) =>
    createModel(service.database, { organisationId: org, bundle: checkBundle(sampleBundle()), now: new Date() });
  const path = (rest = '', org = organisationId) => `/admin/v1/orgs/${org}/jobs${rest}`;
  const requestOf = (file: string, more: object = {}) => ({
    ...{ model_id: model._id, name: 'leads.csv', format: 'csv', bytes: Buffer.byteLength(file), fingerprint, ...more },
  });
  const create = async (file: string, more: object = {}): Promise<ConsoleReply['body']> => {
    const { status, body } = await admin('POST', path(), { body: requestOf(file, more) });
    expect(status, JSON.stringify(body)).to.equal(200);
    expectShape(jobPageSchema, body);
    return body;
  };
  const send = (caller: Caller, id: unknown, bytes: Uint8Array, offset: number, length: number) =>
    caller('PATCH', path(`/${String(id)}/input`), { body: bytes, headers: pieceHeaders(offset, length) });
  const actions = async (): Promise<string[]> => (await service.audit(organisationId)).map(({ action }) => action);

  /** A job of the organisation in a state, without a file. */
  async function storedJob(state: Job['state'], more: Partial<Job> = {}): Promise<string> {
    const job = sampleJob({ _id: jobIdOf(newCallId(Date.now(), organisationId)), org: organisationId, state, ...more });
    await createJob(service.database, job, Number.MAX_SAFE_INTEGER);
    return job._id;
  }

  it('takes a file in pieces, scores each row once under the key console, and gives the results', async function () {
    this.timeout(2 * maxJobMs);
    const rows = Array.from({ length: 40 }, (_, row) => `L-${row},${row},${row % 2 === 0}`);
    const bad = ['L-98,1,true,surplus', 'L-99,2,false,more,cells'];
    const file = `Lead ID,company_size,demo_requested,Colour\n${rows.map((row) => `${row},red`).join('\n')}\n${bad.map((row) => `${row},x,y`).join('\n')}\n`;
    const bytes = new TextEncoder().encode(file);
    const job = await create(file, { crm_id_field: 'Lead ID' });
    const id = String(job.job_id);
    expect(job).to.include({
      state: 'awaiting_upload',
      key_id: 'console',
      created_by: 'Ada',
      kind: 'live',
      name: 'leads.csv',
    });

    const offset = async () => Number((await admin('HEAD', path(`/${id}/input`))).headers.get('upload-offset'));
    expect(await offset()).to.equal(0);
    const first = await send(admin, id, bytes.slice(0, 100), 0, bytes.length);
    expect([first.status, first.headers.get('upload-offset')]).to.deep.equal([204, '100']);
    expect(await offset()).to.equal(100);
    expect((await send(admin, id, bytes.slice(50), 50, bytes.length)).status, 'another offset').to.equal(409);
    expect((await send(admin, id, bytes.slice(100), 100, bytes.length)).status).to.equal(204);

    const done = await eventually(
      async () => {
        const { body } = await admin('GET', path(`/${id}`));
        expect(body.state, JSON.stringify(body)).to.equal('completed');
        return body;
      },
      maxJobMs,
      200,
    );
    expectShape(jobPageSchema, done);
    expect(done.progress).to.deep.equal({ rows: 42, scored: 40, failed: 2, empty: 0 });
    const summary = done.input_summary as { ignored: object[]; fields: { field: string; sent: number }[] };
    expect(summary.ignored).to.deep.equal([{ name: 'Colour', records: 40 }]);
    expect(summary.fields.find(({ field }) => field === 'company_size')).to.include({ sent: 40 });

    const results = await admin('GET', path(`/${id}/results`));
    expect(results.headers.get('content-disposition')).to.equal('attachment; filename="leads.scored.csv"');
    expect(results.headers.get('cache-control')).to.equal('private, no-store, no-transform');
    const lines = String(results.body.text).trimEnd().split('\n').slice(1);
    const scores = lines.slice(0, 40).map((line) => Number(line.split(',')[4]));
    expect(scores).to.deep.equal(
      rows.map((_, row) => sampleAnswer({ company_size: row, demo_requested: row % 2 === 0 }).score),
    );
    const part = await admin('GET', path(`/${id}/results`), { headers: { range: 'bytes=10-19' } });
    expect([part.status, part.body.text]).to.deep.equal([206, String(results.body.text).slice(10, 20)]);

    const failures = (await admin('GET', path(`/${id}/failures`))).body;
    expectShape(jobFailuresOutput, failures);
    expect(failures).to.include({ read: 2, failed: 2 });
    const kinds = failures.kinds as { rows: number; first: { line: number; crm_id?: string }[] }[];
    expect(kinds.flatMap(({ first }) => first.map(({ line }) => line)).sort()).to.deep.equal([42, 43]);
    const errors = await admin('GET', path(`/${id}/errors`));
    expect(errors.headers.get('content-disposition')).to.equal('attachment; filename="leads.errors.csv"');

    const calls = await service.database
      .collection('calls')
      .find({ org: organisationId, bucket: { $exists: true } })
      .toArray();
    expect(calls.map(({ key, bucket, records }) => ({ key, bucket, records }))).to.deep.equal([
      { key: 'console', bucket: 'live', records: 40 },
    ]);
    const listed = (await admin('GET', path())).body;
    expectShape(listJobsOutput, listed);
    expect((listed.jobs as object[])[0]).to.include({ job_id: id, created_by: 'Ada', model_name: model.name });

    expect((await admin('DELETE', path(`/${id}`))).status).to.equal(200);
    expect((await admin('GET', path(`/${id}`))).status).to.equal(404);
    // The part of a download has no entry of its own.
    expect((await actions()).filter((action) => action.startsWith('job.'))).to.deep.equal([
      'job.delete',
      'job.errors',
      'job.results',
      'job.create',
    ]);
  });

  it('scores stored leads again without a file, with an entry that names their choice', async function () {
    this.timeout(2 * maxJobMs);
    const own = await service.newOrganisation();
    const other = await newModel(own);
    const caller = await service.signIn('admin', own);
    const completed = (id: unknown) =>
      eventually(
        async () => {
          const { body } = await caller('GET', path(`/${String(id)}`, own));
          expect(body.state, JSON.stringify(body)).to.equal('completed');
          return body;
        },
        maxJobMs,
        200,
      );
    const bytes = new TextEncoder().encode('crm_id,company_size\nA,1\nB,2\nC,3\n');
    const request = requestOf('', { model_id: other._id, bytes: bytes.length });
    const first = (await caller('POST', path('', own), { body: request })).body;
    await caller('PATCH', path(`/${String(first.job_id)}/input`, own), {
      ...{ body: bytes, headers: pieceHeaders(0, bytes.length) },
    });
    await completed(first.job_id);
    const body = { model_id: other._id, sent_within_days: 30, max_rows: 2 };
    const { status, body: created } = await caller('POST', `/admin/v1/orgs/${own}/stored-jobs`, { body });
    expect(status, JSON.stringify(created)).to.equal(200);
    const done = await completed(created.job_id);
    expectShape(jobPageSchema, done);
    expect(done).to.include({ source: 'stored', created_by: 'Ada', key_id: 'console' });
    expect(done.options).to.include({ sent_within_days: 30, max_rows: 2, include_input: false });
    const results = await caller('GET', path(`/${String(created.job_id)}/results`, own));
    const lines = String(results.body.text).trimEnd().split('\n').slice(1);
    expect(lines.map((line) => line.split(',').slice(0, 2))).to.deep.equal([
      ['1', 'C'],
      ['2', 'B'],
    ]);
    const entry = (await service.audit(own)).find(({ action }) => action === 'job.create_stored');
    expect(entry?.after).to.deep.equal({ model_id: other._id, sent_within_days: 30, max_rows: 2 });
    expect(
      (await caller('POST', `/admin/v1/orgs/${own}/stored-jobs`, { body: { ...body, max_rows: 0 } })).status,
    ).to.equal(422);
  });

  it('checks session, role, organisation and origin at each piece', async () => {
    const job = await create('crm_id,company_size\na,1\n');
    const id = String(job.job_id);
    const piece = (headers: Readonly<Record<string, string>>) =>
      fetch(`${service.url}${path(`/${id}/input`)}`, {
        method: 'PATCH',
        headers: { ...pieceHeaders(0, 24), ...headers },
        body: new TextEncoder().encode('crm_id'),
      });
    const { cookie } = admin;
    expect((await piece({ cookie })).status, 'without an origin').to.equal(403);
    expect((await piece({ cookie, 'sec-fetch-site': 'same-site' })).status).to.equal(403);
    expect((await piece({ cookie, 'sec-fetch-site': 'cross-site' })).status).to.equal(403);
    expect((await piece({ 'sec-fetch-site': 'same-origin' })).status, 'without a session').to.equal(401);
    const bytes = new TextEncoder().encode('crm_id');
    expect((await send(await service.signIn('viewer', organisationId), id, bytes, 0, 24)).status).to.equal(403);
    const other = await service.newOrganisation('Beta');
    const stranger = await service.signIn('owner', other);
    expect((await send(stranger, id, bytes, 0, 24)).status).to.equal(404);
    const asOwn = { body: bytes, headers: pieceHeaders(0, 24) };
    expect((await stranger('PATCH', path(`/${id}/input`, other), asOwn)).status, 'in the own one').to.equal(404);
    const leaving = await service.signIn('admin', organisationId);
    expect((await send(leaving, id, bytes, 0, 24)).status).to.equal(204);
    await leaving('DELETE', '/admin/v1/session');
    expect((await send(leaving, id, bytes, 6, 24)).status, 'after the sign-out').to.equal(401);
    expect((await admin('POST', path(`/${id}/cancel`), { body: {} })).body).to.include({ state: 'canceled' });
    const late = await send(admin, id, bytes, 6, 24);
    expect([late.status, (late.body.error as { code: string }).code]).to.deep.equal([409, 'job_state_conflict']);
  });

  it('creates no job while Live API is off, on a plan without records, or of a model of others', async () => {
    const own = await service.newOrganisation();
    const theirs = await newModel(own);
    const owner = await service.signIn('owner', own);
    const file = 'crm_id,company_size\na,1\n';
    const tried = async (modelId: string) => {
      const { status, body } = await owner('POST', path('', own), { body: requestOf(file, { model_id: modelId }) });
      return [status, (body.error as { code?: string } | undefined)?.code];
    };
    expect(await tried(model._id)).to.deep.equal([404, 'not_found']);
    await service.act(setModel, { org_id: own, model_id: theirs._id, live_api: false });
    expect(await tried(theirs._id)).to.deep.equal([403, 'api_disabled']);
    await service.act(setModel, { org_id: own, model_id: theirs._id, live_api: true });
    await service.act(setOrganisation, { org_id: own, plan: 'free' });
    expect(await tried(theirs._id)).to.deep.equal([429, 'quota_exceeded']);
    expect(await service.database.collection('jobs').countDocuments({ org: own })).to.equal(0);
    expect((await service.audit(own)).filter(({ action }) => action === 'job.create')).to.deep.equal([]);
  });

  it('pauses, resumes and cancels, with one entry for each change', async () => {
    const id = await storedJob('paused', {
      model: model._id,
      version: model.version,
      pause: { reason: 'too_many_errors', message: 'Too many rows failed.' },
    });
    const before = (await actions()).length;
    const command = async (name: string) => {
      const { status, body } = await admin('POST', path(`/${id}/${name}`), { body: {} });
      return [status, body.state];
    };
    expect(await command('pause')).to.deep.equal([200, 'paused']);
    expect(await command('pause'), 'again').to.deep.equal([200, 'paused']);
    expect(await command('cancel')).to.deep.equal([200, 'canceled']);
    expect((await command('resume'))[0]).to.equal(409);
    expect((await admin('DELETE', path(`/${await storedJob('paused')}`))).status).to.equal(409);
    const entries = await actions();
    expect(entries.slice(0, entries.length - before)).to.deep.equal(['job.cancel', 'job.pause']);
  });

  it('compares the first lines of a file with the fields of a model, and finds its earlier job', async () => {
    const preview = async (head: string | Uint8Array, more: object = {}) => {
      const { status, body } = await admin('POST', `/admin/v1/orgs/${organisationId}/files/preview`, {
        body: {
          ...{ model_id: model._id, head: Buffer.from(head).toString('base64'), is_whole: true },
          ...{ fingerprint: 'b'.repeat(64), ...more },
        },
      });
      expect(status, JSON.stringify(body)).to.equal(200);
      expectShape(previewJobOutput, body);
      return body;
    };
    const csv = 'Lead ID;Company Size;Lead Sorce;Colour\n1;5;Referral;red\n2;6;Webinar;blue\n';
    const found = await preview(csv);
    expect(found)
      .to.include({ format: 'csv', rows: 2, id_guess: 'Lead ID', fields: 3 })
      .and.not.have.property('problem');
    expect(found.columns).to.deep.equal([
      { name: 'Lead ID' },
      { name: 'Company Size', field: 'company_size' },
      { name: 'Lead Sorce', did_you_mean: 'lead_source' },
      { name: 'Colour' },
    ]);
    expect(found.missing).to.have.members(['demo_requested', 'lead_source']);
    expect((found.usage as { limit: number }).limit).to.equal(10_000);
    const named = await preview(csv, { crm_id_field: 'Lead ID' });
    expect(named).to.include({ id_column: 'Lead ID' });
    expect((named.columns as object[])[0]).to.deep.equal({ name: 'Lead ID', is_id: true });
    // The row is cut in a quoted cell, and UTF-16 in the middle of a character.
    const cut = await preview('crm_id,company_size\n1,5\n2,"6', { is_whole: false });
    expect(cut).to.include({ rows: 1, id_column: 'crm_id' }).and.not.have.property('problem');
    const wide = Buffer.from('\uFEFFcrm_id\tcompany_size\r\n1\t5\r\n2', 'utf16le').subarray(0, -1);
    expect(await preview(wide, { is_whole: false }))
      .to.include({ rows: 1 })
      .and.not.have.property('problem');
    const jsonl = await preview('{"crm_id": "1", "company_size": 5}\n{"crm_id": "2", "lead_source": "Referral"}\n');
    expect(jsonl).to.include({ format: 'jsonl', rows: 2, id_column: 'crm_id' });
    expect(jsonl.missing).to.deep.equal(['demo_requested']);
    const twice = await preview('crm_id,company_size,company_size\n1,2,3\n');
    expect(twice.problem).to.match(/Two columns have the name "company_size" .*\.$/);
    expect(twice.columns).to.have.length.above(1);
    expect((await preview('PK\u0003\u0004 a workbook')).problem).to.be.a('string');

    const unfinished = await storedJob('awaiting_upload', { fingerprint: 'c'.repeat(64) });
    const again = await preview(csv, { fingerprint: 'c'.repeat(64) });
    expect((again.same_file as { job_id: string }[]).map((job) => job.job_id)).to.deep.equal([unfinished]);
  });
});
