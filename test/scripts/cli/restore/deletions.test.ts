import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Document } from 'mongodb';
import { dayMs } from '../../../../shared/contract/dates.js';
import { connectMongo, type Mongo } from '../../../../shared/store/connection/connect.js';
import { removalTimings, removeOrganisations } from '../../../../worker/upkeep/deletions/remove-organisations.js';
import { type OperatorDesk, operatorDesk } from '../operator-desk.js';

describe('leadscore restore, after the deletion of an organisation', () => {
  let desk: OperatorDesk;
  let mongo: Mongo;
  let directory: string;
  let file: string;
  let id: string;

  before(async () => {
    desk = await operatorDesk();
    mongo = await connectMongo(desk.databases.mongoUrl, { name: 'test' });
    directory = await mkdtemp(join(tmpdir(), 'leadscore-deletions-'));
    file = join(directory, 'changes.jsonl');
  });
  beforeEach(async () => {
    id = await desk.newOrganisation();
    await desk.document('key', 'create', id);
  });
  after(async () => {
    await desk.leave();
    await mongo.client.close();
    await rm(directory, { recursive: true });
  });

  const deletionOf = async () => (await desk.document('org', 'show', id)).deletion;
  const order = () => desk.document('org', 'delete', id, '--name', 'Acme', '--after', '1');
  const own = async (name: string): Promise<Document[]> =>
    await mongo.database.collection(name).find({ organisation_id: id }).toArray();
  /** Copies all but the settings. The result puts it back, as a restore from a backup does. */
  async function backUp(): Promise<() => Promise<void>> {
    const copies = new Map<string, Document[]>();
    for (const { collectionName: name } of await mongo.database.collections())
      if (name !== 'settings') copies.set(name, await mongo.database.collection(name).find().toArray());
    return async () => {
      for (const [name, documents] of copies) {
        await mongo.database.collection(name).deleteMany({});
        if (documents.length > 0) await mongo.database.collection(name).insertMany(documents);
      }
    };
  }
  /** Runs the upkeep of pools in the days after the one on which the deletion is due. */
  async function runPools(): Promise<number> {
    let deleted = 0;
    for (const days of [2, 3]) {
      const clock = { now: () => Date.now() + days * dayMs };
      const logger = { info: () => undefined };
      const { database } = mongo;
      const options = { database, redis: desk.redis, clock, leaseMs: 30_000, logger, timings: removalTimings };
      deleted += await removeOrganisations(options);
    }
    return deleted;
  }

  it('withdraws an organisation again that is to be deleted on the same day', async () => {
    const restore = await backUp();
    await order();
    const deletion = await deletionOf();
    expect(await desk.document('restore', 'export', file)).to.include({ deletions: 1 });
    await restore();
    expect(await deletionOf()).to.equal(undefined);
    expect(await desk.document('restore', 'finish', file)).to.include({ deletions: 1 });
    expect(await deletionOf()).to.deep.equal(deletion);
    expect((await own('api_keys')).map(({ withdrawn }) => withdrawn)).to.deep.equal([true]);
    expect(await desk.document('restore', 'finish', file), 'run again').to.include({ deletions: 1 });
    expect(await deletionOf()).to.deep.equal(deletion);
    await desk.document('org', 'undelete', id);
  });

  it('brings back no organisation that was deleted: pools remove its data again', async () => {
    const restore = await backUp();
    await order();
    expect(await runPools()).to.equal(1);
    const receipt = await desk.document('org', 'receipts', id);
    expect(receipt).to.deep.include({ org_id: id, state: 'deleted' });
    await desk.document('restore', 'export', file);
    expect(await readFile(file, 'utf8')).to.not.include('Acme');
    await restore();
    expect(await own('api_keys')).to.have.length(1);
    await desk.document('restore', 'finish', file);
    expect(await deletionOf()).to.deep.include({ due_at: receipt.due_at });
    expect(await runPools()).to.equal(1);
    expect(await own('api_keys')).to.deep.equal([]);
    expect((await desk.run('org', 'show', id)).stderr).to.include('There is no organisation');
    expect(await desk.document('org', 'receipts', id)).to.deep.include({ removed: receipt.removed });
  });

  it('brings back the receipt of an organisation that the backup does not know', async () => {
    const restore = await backUp();
    const later = await desk.newOrganisation();
    await desk.document('org', 'delete', later, '--name', 'Acme', '--after', '1');
    expect(await runPools()).to.equal(1);
    const receipt = await desk.document('org', 'receipts', later);
    await desk.document('restore', 'export', file);
    await restore();
    await desk.document('restore', 'finish', file);
    expect(await desk.document('org', 'receipts', later)).to.deep.equal(receipt);
  });

  it('keeps an organisation whose deletion was taken back after the backup', async () => {
    await order();
    const restore = await backUp();
    await desk.document('org', 'undelete', id);
    await desk.document('restore', 'export', file);
    await restore();
    expect(await deletionOf()).to.be.an('object');
    await desk.document('restore', 'finish', file);
    expect(await deletionOf()).to.equal(undefined);
    expect(await runPools()).to.equal(0);
    expect(await own('api_keys')).to.have.length(1);
  });

  it('keeps what a backup has when the file is older: a deletion taken back, and one ordered for a later day', async () => {
    await order();
    await desk.document('restore', 'export', file);
    const repeated = async () => Number((await desk.document('restore', 'finish', file)).deletions);
    const all = await repeated();
    await desk.document('org', 'undelete', id);
    expect(await repeated()).to.equal(all - 1);
    expect(await deletionOf()).to.equal(undefined);
    await desk.document('org', 'delete', id, '--name', 'Acme', '--after', '30');
    const deletion = await deletionOf();
    expect(await repeated()).to.equal(all);
    expect(await deletionOf()).to.deep.equal(deletion);
    await desk.document('org', 'undelete', id);
  });

  it('refuses a line with a deletion that it did not write, and names the line', async () => {
    await writeFile(file, `${JSON.stringify({ deletion: { _id: id, due_at: 'soon' }, at: new Date() })}\n`);
    const { exitCode, stderr } = await desk.run('restore', 'finish', file);
    expect(exitCode).to.equal(1);
    expect(stderr).to.include(`${file}, line 1 was not written by \`restore export\``);
    expect(await deletionOf()).to.equal(undefined);
  });
});
