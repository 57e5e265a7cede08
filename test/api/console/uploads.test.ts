import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { uploadSchema } from '../../../shared/admin/schemas/uploads.js';
import { expectShape } from '../../support/admin/admin-desk.js';
import type { Caller, ConsoleReply, ConsoleService } from '../../support/admin/console-service.js';
import { sharedConsoleWithPool } from '../../support/admin/shared-console.js';
import { eventually } from '../../support/eventually.js';
import { crashingBundle } from '../../support/faults/fault-models.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { tarArchive, tarEntries } from '../../support/models/tar-archive.js';
import { startTimeoutMs } from '../../support/service/service.js';

const maxCheckMs = 60_000;

describe('an upload of a bundle', () => {
  let service: ConsoleService;
  let organisationId: string;
  let admin: Caller;

  before(async function () {
    this.timeout(2 * startTimeoutMs);
    service = await sharedConsoleWithPool();
    organisationId = await service.newOrganisation();
    admin = await service.signIn('admin', organisationId);
  });

  const path = () => `/admin/v1/orgs/${organisationId}/uploads`;
  const send = (caller: Caller, body: Uint8Array, type = 'application/gzip') =>
    caller('POST', path(), { body, headers: { 'content-type': type } });
  const archiveOf = async (files: ReadonlyMap<string, Buffer>) =>
    new Uint8Array(gzipSync(await tarArchive(tarEntries(files, ''))));

  async function checked(body: Uint8Array): Promise<ConsoleReply['body']> {
    const { status, body: upload } = await send(admin, body);
    expect(status, JSON.stringify(upload)).to.equal(202);
    expectShape(uploadSchema, upload);
    const id = String(upload.upload_id);
    return await eventually(
      async () => {
        const { body: found } = await admin('GET', `${path()}/${id}`);
        expect(found.state).to.be.oneOf(['passed', 'failed']);
        expectShape(uploadSchema, found);
        return found;
      },
      maxCheckMs,
      200,
    );
  }

  it('is read, scores its golden records in a process of its own, and then scores calls as a model', async function () {
    this.timeout(2 * maxCheckMs);
    const found = await checked(await archiveOf(sampleBundle()));
    expect(found).to.include({ state: 'passed', problem: null });
    expect(found.manifest).to.include({ version: '1.0.0', family: 'forward' });
    const golden = found.golden as { records: number; matching: number };
    expect(golden.matching).to.equal(golden.records).and.above(0);
    const importIt = () => admin('POST', `${path()}/${String(found.upload_id)}/import`, { body: { name: 'Uploaded' } });
    const replies = await Promise.all([importIt(), importIt()]);
    const imported = replies.find(({ status }) => status === 200) ?? replies[0];
    expect(replies.map(({ status }) => status).sort(), JSON.stringify(replies.map(({ body }) => body))).to.deep.equal([
      200, 409,
    ]);
    expect(imported.body).to.include({ name: 'Uploaded', version: '1.0.0', live_api: true });
    const after = await admin('GET', `${path()}/${String(found.upload_id)}`);
    expect(after.body).to.include({ state: 'imported', model_id: imported.body.model_id });
    expect((await importIt()).status).to.equal(409);
    const model = `/admin/v1/orgs/${organisationId}/models/${String(imported.body.model_id)}`;
    const { contributions } = (await admin('GET', `${model}/report`)).body as {
      contributions: { field: string; raises: number; lowers: number }[];
    };
    expect(contributions.map(({ field }) => field)).to.have.members(['company_size', 'demo_requested', 'lead_source']);
    for (const { raises, lowers } of contributions) {
      expect(raises).to.be.at.least(0);
      expect(lowers).to.be.at.most(0);
    }
    const strengths = contributions.map(({ raises, lowers }) => raises - lowers);
    expect(strengths).to.deep.equal([...strengths].sort((one, other) => other - one));
    expect(strengths[0]).to.be.above(0);
    const scored = await admin('POST', `/admin/v1/orgs/${organisationId}/playground`, {
      body: { model_id: imported.body.model_id, fields: { company_size: 50 } },
    });
    expect(scored.status).to.equal(200);
    const actions = (await service.audit(organisationId)).map(({ action }) => action);
    expect(actions).to.include.members(['upload.create', 'upload.import']);
  });

  it('is refused as a new model when a model has the same bundle, unless the caller wants one', async function () {
    this.timeout(2 * maxCheckMs);
    const found = await checked(await archiveOf(sampleBundle()));
    const importIt = (body: object) => admin('POST', `${path()}/${String(found.upload_id)}/import`, { body });
    const { status, body } = await importIt({});
    expect(status).to.equal(409);
    const { model_id: id, ...error } = body.error as Record<string, unknown>;
    expect(error).to.include({ code: 'bundle_stored', version: '1.0.0' });
    expect(error.message).to.equal(
      `${organisationId} has this bundle already: version "1.0.0" of the model ${id} (Uploaded). Import it as a version of that model, or as a new model on purpose.`,
    );
    expect((await importIt({ new: true, model_id: id })).status).to.equal(422);
    const second = await importIt({ new: true, name: 'Second' });
    expect(second.status, JSON.stringify(second.body)).to.equal(200);
    expect(second.body.model_id).to.not.equal(id);
  });

  it('becomes a version of a model only when the caller says whether it serves', async function () {
    this.timeout(2 * maxCheckMs);
    const { body: listed } = await admin('GET', `/admin/v1/orgs/${organisationId}/models`);
    const [model] = listed.models as readonly { readonly model_id: string; readonly version: string }[];
    if (model === undefined) throw new Error('the tests above import a model');
    const found = await checked(await archiveOf(sampleBundle({ version: '2.0.0' })));
    const importIt = (body: object) =>
      admin('POST', `${path()}/${String(found.upload_id)}/import`, { body: { model_id: model.model_id, ...body } });
    const silent = await importIt({});
    expect(silent.status).to.equal(422);
    expect((silent.body.error as { message: string }).message)
      .to.include('candidate')
      .and.to.include('serve');
    await admin('PATCH', `/admin/v1/orgs/${organisationId}/models/${model.model_id}`, { body: { name: 'Kept' } });
    const candidate = await importIt({ use: 'candidate' });
    expect(candidate.status, JSON.stringify(candidate.body)).to.equal(200);
    expect(candidate.body).to.deep.include({ version: model.version, name: 'Kept' });
    expect(candidate.body.candidate).to.include({ version: '2.0.0' });
  });

  it('notes why the model is explained by occlusion', async function () {
    this.timeout(2 * maxCheckMs);
    const manifest = { explain: { kind: 'linear', means: [0, 0, 0, 0, 0, 0] } } as const;
    const found = await checked(await archiveOf(sampleBundle({ model: 'tree', manifest })));
    expect(found).to.include({ state: 'passed' });
    expect(found.notes).to.include(
      'The model is explained by occlusion, because the trees come without the weights of their nodes.',
    );
  });

  it('fails with the reason when it is no bundle, differs from its golden records, or crashes', async function () {
    this.timeout(3 * maxCheckMs);
    const broken = new Map(sampleBundle());
    broken.set('golden.jsonl', Buffer.from('{"record":{"company_size":5},"raw":0.9,"score":3}\n'));
    const failures = [
      [new TextEncoder().encode('no archive'), /./],
      [await archiveOf(broken), /golden records: record 1/],
      [await archiveOf(crashingBundle()), /ended the process that checked it \(SIGSEGV\)/],
    ] as const;
    for (const [body, reason] of failures) {
      const found = await checked(body);
      expect(found.state).to.equal('failed');
      expect(found.problem).to.match(reason);
      const refused = await admin('POST', `${path()}/${String(found.upload_id)}/import`, { body: {} });
      expect(refused.status).to.equal(409);
    }
  });

  it('is refused to viewers, to people of other organisations, and as anything but an archive', async () => {
    const body = await archiveOf(sampleBundle());
    expect((await send(service.anyone, body)).status).to.equal(401);
    expect((await send(await service.signIn('viewer', organisationId), body)).status).to.equal(403);
    const other = await service.newOrganisation('Beta');
    expect((await send(await service.signIn('owner', other), body)).status).to.equal(404);
    expect((await send(admin, body, 'text/plain')).status).to.equal(422);
    expect((await admin('GET', `${path()}/none`)).status).to.equal(422);
  });
});
