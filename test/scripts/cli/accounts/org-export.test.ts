import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import { expect } from 'chai';
import type { Document } from 'mongodb';
import { extract } from 'tar-stream';
import { exportedCollections } from '../../../../scripts/cli/export/exported-collections.js';
import { callIdGenerator } from '../../../../shared/contract/identifiers.js';
import { callDocuments } from '../../../../shared/store/calls/call-documents.js';
import { segmentsOf } from '../../../../shared/store/calls/prediction-segment.js';
import { OutcomeStore } from '../../../../shared/store/validation/outcomes.js';
import { type OperatorDesk, operatorDesk } from '../operator-desk.js';

/** Collections whose documents no export has, with the reason. */
const leftOut: Readonly<Record<string, string>> = {
  calls: 'they are the members calls and records',
  settings: 'of the installation',
  org_deletions: 'receipts for the operator',
  retention: 'of the installation',
  changes: 'of the service alone, for seconds',
  console_links: 'secrets of sign-ins',
  console_sessions: 'secrets of sign-ins',
  console_uploads: 'expire within hours',
  erasures: 'hashes of erased leads',
  idempotency: 'replies, which repeat the records, for a day',
  job_blobs: 'files of jobs, which repeat the records',
  job_locks: 'of the service alone',
  job_slices: 'files of jobs',
  job_uploads: 'files of jobs',
  candidate_runs: 'scores that reach no caller',
  candidate_scores: 'scores that reach no caller',
  'bundles.files': 'they are the folder bundles',
  'bundles.chunks': 'they are the folder bundles',
};

describe('leadscore org export', () => {
  let desk: OperatorDesk;
  let directory: string;
  let organisation: string;
  let neighbour: string;
  const newCallId = callIdGenerator();
  const nowMs = Date.now() - 60_000;

  before(async () => {
    desk = await operatorDesk();
    directory = await mkdtemp(join(tmpdir(), 'leadscore-export-'));
    organisation = await filled();
    neighbour = await filled();
  });

  after(async () => {
    await desk.leave();
    await rm(directory, { recursive: true, force: true });
  });

  /** An organisation with a key, a model, calls, an outcome, and a document in each other exported collection. */
  async function filled(): Promise<string> {
    const org = await desk.newOrganisation();
    const { key_id: key } = await desk.document('key', 'create', org, '--name', 'HubSpot');
    const model = await desk.document('model', 'import', await desk.writeBundle(), '--org', org);
    const of = { org, model: String(model.model_id), version: String(model.version), at: new Date(nowMs) };
    const row = { ...of, request_id: 'r', key: String(key), month: '2026-11' };
    for (const records of [1, 250]) {
      const callId = newCallId(nowMs, org);
      const columns = {
        crmIds: Array.from({ length: records }, (_, index) => (index === 7 ? null : `${org}-LEAD-${index}`)),
        scores: Array.from({ length: records }, (_, index) => index % 101),
        likelihoods: Array.from({ length: records }, (_, index) => index),
        fields: Array.from({ length: records }, (_, index) => JSON.stringify([index, null, 'Referral'])),
      };
      const segments = segmentsOf({ callId, ...of, ...columns });
      const documents = callDocuments({ _id: callId, ...row, bucket: 'live', records }, segments);
      await desk.stores.calls.insertMany(documents);
    }
    await desk.stores.calls.insertOne({ _id: newCallId(nowMs, org), ...row, bucket: 'test', records: 3 });
    await new OutcomeStore(desk.stores.database).record({
      organisationId: org,
      outcomes: [{ crmId: `${org}-LEAD-1`, converted: true, at: new Date(nowMs) }],
      receivedAt: new Date(nowMs),
    });
    for (const { collection, of: filterOf } of exportedCollections) {
      const { _id, ...members } = filterOf(org);
      if ((await desk.stores.database.collection(collection).findOne(filterOf(org))) !== null) continue;
      const id = typeof _id === 'object' ? `${org}:some:day` : `${collection}-of-${org}`;
      const document: Document = { _id: id, ...members, email: `${org}@example.com`, at: new Date(nowMs) };
      await desk.stores.database.collection<Document & { _id: string }>(collection).insertOne({ ...document, _id: id });
    }
    return org;
  }

  /** The members of an archive by name. */
  async function membersOf(path: string): Promise<Map<string, Buffer>> {
    const members = new Map<string, Buffer>();
    for await (const entry of createReadStream(path).pipe(createGunzip()).pipe(extract()))
      members.set(entry.header.name, await buffer(entry));
    return members;
  }

  const linesOf = (members: ReadonlyMap<string, Buffer>, name: string): Document[] =>
    [...members]
      .filter(([file]) => new RegExp(`^${name}-\\d{5}\\.jsonl$`).test(file))
      .flatMap(([, bytes]) => bytes.toString().trimEnd().split('\n'))
      .map((line) => JSON.parse(line) as Document);

  it('has every document of the organisation, and none of another one', async () => {
    const path = join(directory, 'acme.tar.gz');
    const printed = await desk.document('org', 'export', organisation, path);
    expect(printed).to.include({ org_id: organisation, calls: 3, records: 251, bundles: 1 });
    const members = await membersOf(path);
    for (const { name, collection, of, without = [] } of exportedCollections) {
      const stored = await desk.stores.database.collection(collection).find(of(organisation)).toArray();
      const expected = stored.map(({ _id: id, ...document }) => {
        for (const member of without) delete document[member];
        return JSON.parse(JSON.stringify({ id, ...document })) as Document;
      });
      expect(linesOf(members, name), name).to.have.deep.members(expected).and.not.be.empty;
    }
    const records = linesOf(members, 'records');
    expect(records.map(({ row, score, crm_id }) => [row, score, crm_id])).to.deep.equal([
      [0, 0, `${organisation}-LEAD-0`],
      ...Array.from({ length: 250 }, (_, row) => [row, row % 101, row === 7 ? null : `${organisation}-LEAD-${row}`]),
    ]);
    expect(records.at(-1)).to.deep.include({
      conversion_likelihood: 0.0249,
      fields: [
        { field: 'company_size', value: 249 },
        { field: 'lead_source', value: 'Referral' },
      ],
    });
    expect(linesOf(members, 'calls').map(({ bucket, records: counted }) => [bucket, counted])).to.deep.equal([
      ['live', 1],
      ['live', 250],
      ['test', 3],
    ]);
    const text = Buffer.concat([...members.values()]).toString('latin1');
    expect(text).to.not.include(neighbour);
    const [key] = await desk.stores.database.collection('api_keys').find({ organisation_id: organisation }).toArray();
    expect(text).to.include(key?._id).and.not.include(key?.hash);
  });

  it('lists its members with their sizes and SHA-256, and has bundles that can be imported', async () => {
    const path = join(directory, 'listed.tar.gz');
    await desk.document('org', 'export', organisation, path);
    const members = await membersOf(path);
    const listed = JSON.parse(String(members.get('members.json'))) as {
      readonly members: readonly { readonly file: string; readonly bytes: number; readonly sha256: string }[];
    };
    expect(listed.members.map(({ file }) => file)).to.have.members(
      [...members.keys()].filter((name) => name !== 'members.json'),
    );
    for (const { file, bytes, sha256 } of listed.members) {
      const member = members.get(file) ?? Buffer.alloc(0);
      expect(member.length, file).to.equal(bytes);
      expect(createHash('sha256').update(member).digest('hex'), file).to.equal(sha256);
    }
    const folder = await desk.writeBundle();
    const files = [...members.keys()]
      .filter((name) => name.startsWith('bundles/'))
      .map((name) => name.split('/').at(-1));
    expect(files).to.have.members(await readdir(folder));
  });

  it('knows every collection of the database', async () => {
    const { database } = desk.stores;
    const existing = (await database.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);
    const known = [...exportedCollections.map(({ collection }) => collection), ...Object.keys(leftOut)];
    expect(known).to.include.members(existing.filter((name) => !name.startsWith('system.')));
  });

  it('fails at its end when leads were erased meanwhile, and leaves no file', async () => {
    const other = await filled();
    const erasures = desk.stores.database.collection<Document & { _id: string }>('erasures');
    await erasures.insertOne({
      _id: 'a hash',
      org: other,
      erased_at: new Date(0),
      due_at: new Date(Date.now() + 60_000),
    });
    const path = join(directory, 'erased.tar.gz');
    const { exitCode, stderr } = await desk.run('org', 'export', other, path);
    expect(exitCode).to.equal(1);
    expect(stderr).to.include('Leads were erased during the export (1)').and.include('Run the command again');
    expect(await readdir(directory))
      .to.not.include.members(['erased.tar.gz'])
      .and.not.include('erased.tar.gz.part');
  });

  it('names a full disk, a missing folder and an unknown organisation, and leaves no file', async () => {
    const full = join(directory, 'full.tar.gz');
    await symlink('/dev/full', `${full}.part`);
    const onFull = await desk.run('org', 'export', organisation, full);
    expect(onFull.exitCode).to.equal(1);
    expect(onFull.stderr).to.match(/Cannot write .*full\.tar\.gz: .*(space|full)/i);
    const missing = await desk.run('org', 'export', organisation, join(directory, 'none', 'x.tar.gz'));
    expect(missing.exitCode).to.equal(1);
    expect(missing.stderr).to.include('Cannot write');
    const unknown = await desk.run('org', 'export', 'org_0000000000000000', join(directory, 'y.tar.gz'));
    expect(unknown.exitCode).to.equal(1);
    expect(unknown.stderr).to.include('org list');
    expect((await readdir(directory)).filter((name) => /full|^x|^y|part/.test(name))).to.deep.equal([]);
  });

  it('leaves an entry in the audit log', async () => {
    const { stdout } = await desk.run('audit', organisation, '--action', 'org.export', '--json');
    expect(stdout).to.include('"action":"org.export"');
  });
});
