import { existsSync } from 'node:fs';
import { appendFile, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Document } from 'mongodb';
import { KeySettingsStore } from '../../../../shared/store/accounts/key-settings.js';
import { leadHash } from '../../../../shared/store/calls/erasures.js';
import { refused, scored, scoredRow } from '../../../support/http/score-reply.js';
import { leaveOut } from '../../../support/leave-out.js';
import { testServers } from '../../../support/service/servers.js';
import { type RunningService, runningService, startTimeoutMs } from '../../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../../support/service/workspace.js';
import { callCli, cliDocument } from '../cli-call.js';

const lead = { company_size: 120, lead_source: 'Referral' };
const scoresOf = (crmId: string): string => `/v1/scores/${crmId}`;

describe('leadscore restore', () => {
  let service: RunningService;
  let own: TestWorkspace;
  let directory: string;
  let file: string;
  let settings: Record<string, string>;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService({ gateways: 1 });
    const mongoUrl = new URL((await testServers()).mongoUrl);
    mongoUrl.pathname = `/${service.stores.database.databaseName}`;
    settings = { REDIS_URL: service.redisServer.url, MONGODB_URL: mongoUrl.href, KEY_PEPPER: service.keyPepper };
  });
  after(() => service.stop());
  beforeEach(async () => {
    own = await workspace(service);
    directory = await mkdtemp(join(tmpdir(), 'leadscore-restore-'));
    file = join(directory, 'changes.jsonl');
  });
  afterEach(() => rm(directory, { recursive: true }));

  const document = (...words: string[]) => cliDocument(['restore', ...words], settings);
  /** The service of these tests goes on. */
  const finish = (...words: string[]) => document('finish', ...words, '--yes');
  const score = (crmId: string, options = {}) => own.score([{ ...lead, crm_id: crmId }], options);
  const erase = async (crmId: string) => (await own.call(scoresOf(crmId), { method: 'DELETE' })).status;
  const knows = async (crmId: string) => (await own.call(scoresOf(crmId))).status === 200;
  const outcome = (crmId: string) =>
    own.call('/v1/outcomes', { body: { outcomes: [{ crm_id: crmId, converted: true, at: '2026-03-01' }] } });

  /** Copies all documents. The result puts them back, as a restore from a backup does. */
  async function backUp(): Promise<() => Promise<void>> {
    const collections = (await service.stores.database.collections()).filter(
      ({ collectionName }) => !/^(fs\.|bundle|system)/.test(collectionName),
    );
    const copies: Document[][] = [];
    for (const collection of collections) copies.push(await collection.find().toArray());
    return async () => {
      for (const [index, collection] of collections.entries()) {
        await collection.deleteMany({});
        const copy = copies[index] ?? [];
        if (copy.length > 0) await collection.insertMany(copy);
      }
    };
  }

  it('finish erases leads and revokes keys that the backup has, as the exported file says', async () => {
    const other = await own.addKey('live');
    const ofTestKey = { key: own.test, headers: { 'idempotency-key': own.id } };
    for (const crmId of ['erased', 'kept', 'reported']) scored(await score(crmId));
    for (const crmId of ['erased', 'reported', 'only reported']) expect((await outcome(crmId)).status).to.equal(200);
    scored(await score('erased', ofTestKey));
    const restore = await backUp();
    for (const crmId of ['erased', 'only reported']) expect(await erase(crmId)).to.equal(204);
    await cliDocument(['key', 'revoke', other.key._id], settings);
    expect(await document('export', file)).to.deep.include({ file, erasures: 2, revocations: 1 });
    expect(await readFile(file, 'utf8')).to.not.match(/kept|reported|"erased"}/);

    await restore();
    expect(await knows('erased'), 'after the restore').to.equal(true);
    expect(await finish(file)).to.deep.include({ erasures: 2, revocations: 1, leads_erased: 2 });
    expect(await knows('erased')).to.equal(false);
    expect(await knows('kept')).to.equal(true);
    const outcomes = service.stores.database.collection('outcomes').find({ org: own.id }).toArray();
    expect((await outcomes).map(({ crm_id }) => crm_id)).to.deep.equal(['reported']);
    const replies = service.stores.replies.find({ _id: new RegExp(`^${own.id}:`) }).toArray();
    expect(await replies).to.deep.equal([]);
    expect((await service.stores.keys.findByHash(other.key.hash))?.revoked_at).to.be.an.instanceOf(Date);

    scored(await score('erased'));
    expect(await finish(file), 'run again').to.deep.include({ leads_erased: 0 });
    expect(await knows('erased'), 'scored since').to.equal(true);
  });

  it('finish erases the leads that the restored database itself lists, without a file', async () => {
    scored(await score('erased'));
    const calls = await service.stores.calls.find({ org: own.id }).toArray();
    expect(await erase('erased')).to.equal(204);
    await service.stores.calls.deleteMany({ org: own.id });
    await service.stores.calls.insertMany(calls);
    expect(await finish()).to.deep.include({ file: null, leads_erased: 1 });
    expect(await knows('erased')).to.equal(false);
  });

  it('finish leaves no previous score and no usage in Redis that the restored database does not have', async () => {
    scored(await score('before the backup'));
    const restore = await backUp();
    scored(await score('after the backup'));
    await restore();
    await finish();
    const row = scoredRow(await score('after the backup'));
    expect(row).to.include({ enriched: false }).and.not.have.property('previous_score');
    expect(await own.redisUsage()).to.deep.equal({ used: await own.ledgerSum(), leased: 0 });
    expect(scoredRow(await score('before the backup'))).to.include({ enriched: true });
  });

  it('finish changes nothing with another KEY_PEPPER or KEY_BRAND, unless KEY_PEPPER_CHANGED=yes accepts it', async () => {
    scored(await score('erased'));
    const restore = await backUp();
    expect(await erase('erased')).to.equal(204);
    await document('export', file);
    await restore();
    const changes = { KEY_PEPPER: 'another pepper of the tests', KEY_BRAND: 'acme' };
    for (const [name, value] of Object.entries(changes)) {
      const words = ['restore', 'finish', file, '--yes', '--json'];
      const other = { ...settings, [name]: value };
      const { exitCode, stderr } = await callCli(words, other);
      expect(exitCode, name).to.equal(1);
      const { error } = JSON.parse(stderr);
      expect(error.code).to.equal('other_key_settings');
      expect(error.message)
        .to.include(`${name} is not that of the keys in this database`)
        .and.include(`Set the right ${name}. `)
        .and.include('KEY_PEPPER_CHANGED=yes');
      const erasures = service.stores.database.collection('erasures').find({ org: own.id, was_known: true });
      expect(await erasures.toArray(), name).to.deep.equal([]);
      expect((await callCli(words, { ...other, KEY_PEPPER_CHANGED: 'yes' })).exitCode, name).to.equal(0);
      await service.stores.database.collection('erasures').deleteMany({ org: own.id });
      await restore();
    }
    const inUse = { brand: 'leadscore', pepper: service.keyPepper };
    expect(await new KeySettingsStore(service.stores.database).compare(inUse), 'not replaced').to.deep.equal([]);
    expect(await finish(file)).to.deep.include({ leads_erased: 1 });
  });

  it('finish erases leads that were erased under the previous KEY_PEPPER, and under the new one', async () => {
    for (const crmId of ['before', 'after', 'kept']) scored(await score(crmId));
    const restore = await backUp();
    expect(await erase('before')).to.equal(204);
    await document('export', file);
    await restore();
    const added = 'the new pepper of the restore';
    const lead = { organisationId: own.id, crmId: 'after' };
    const after = { erased: leadHash(lead, added), org: own.id, at: new Date(service.clock.now() + 60_000) };
    await appendFile(file, `${JSON.stringify(after)}\n`);
    const both = { ...settings, KEY_PEPPER: added, KEY_PEPPER_PREVIOUS: service.keyPepper };
    expect(await cliDocument(['restore', 'finish', file, '--yes'], both)).to.deep.include({ leads_erased: 2 });
    expect([await knows('before'), await knows('after'), await knows('kept')]).to.deep.equal([false, false, true]);
    const inUse = { brand: 'leadscore', pepper: service.keyPepper };
    expect(await new KeySettingsStore(service.stores.database).compare(inUse), 'not replaced').to.deep.equal([]);
  });

  it('finish names a file that cannot be read, and a line that is no change', async () => {
    const missing = await callCli(['restore', 'finish', file, '--yes'], settings);
    expect([missing.exitCode, missing.stderr]).to.deep.equal([1, `Error: Cannot read ${file}: no such file\n`]);
    const revocation = JSON.stringify({ revoked: own.live.key._id, at: new Date() });
    await writeFile(file, `${revocation}\n{"erased":"x"}\n`);
    const wrong = await callCli(['restore', 'finish', file, '--yes'], settings);
    expect(wrong.exitCode).to.equal(1);
    expect(wrong.stderr).to.include(`${file}, line 2 `);
    expect(await service.stores.keys.find(own.live.key._id), 'nothing changed').to.not.have.property('revoked_at');
  });

  it('finish refuses a file that another installation has written, and changes nothing', async () => {
    const other = await own.addKey('live');
    await cliDocument(['key', 'revoke', other.key._id], settings);
    await document('export', file);
    const [first = '', ...others] = (await readFile(file, 'utf8')).split('\n');
    expect(others.join('')).to.not.include('installation');
    const revocation = { revoked: own.live.key._id, at: new Date(), installation: 'of another database' };
    await writeFile(file, `${JSON.stringify({ ...JSON.parse(first), ...revocation })}\n`);
    const { exitCode, stderr } = await callCli(['restore', 'finish', file, '--yes', '--json'], settings);
    expect(exitCode).to.equal(1);
    expect(JSON.parse(stderr).error).to.include({ code: 'other_installation' });
    expect(JSON.parse(stderr).error.message)
      .to.include(`${file} was written by \`restore export\` of another installation. Nothing was changed.`)
      .and.include('Give the file of the installation');
    expect(await service.stores.keys.find(own.live.key._id)).to.not.have.property('revoked_at');
    scored(await score('of the key'));
  });

  it('export says why a file cannot be written', async () => {
    const nowhere = join(directory, 'missing', 'changes.jsonl');
    const { exitCode, stderr } = await callCli(['restore', 'export', nowhere], settings);
    expect(exitCode).to.equal(1);
    expect(stderr).to.include('no such folder');
  });

  it('export names a full disk, and keeps the earlier file', async function () {
    const full = '/dev/full';
    if (!existsSync(full)) leaveOut(this, `${full} does not exist`, 'run it on Linux');
    await cliDocument(['key', 'revoke', own.live.key._id], settings);
    await document('export', file);
    const earlier = await readFile(file, 'utf8');
    await symlink(full, `${file}.part`);
    const { exitCode, stderr } = await callCli(['restore', 'export', file], settings);
    expect(exitCode).to.equal(1);
    expect(stderr)
      .to.include(`Cannot write ${file}: `)
      .and.match(/no space|disk is full/);
    expect(await readFile(file, 'utf8')).to.equal(earlier);
  });

  it('refuses a call with the revoked key after finish', async () => {
    const other = await own.addKey('live');
    const restore = await backUp();
    await cliDocument(['key', 'revoke', other.key._id], settings);
    await document('export', file);
    await restore();
    await finish(file);
    refused(await own.score([lead], { key: other }), '401 invalid_api_key');
  });
});
