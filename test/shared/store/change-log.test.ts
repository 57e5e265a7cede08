import { expect } from 'chai';
import { ChangeLog, type ChangesSince, logged } from '../../../shared/store/connection/change-log.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { failureOf } from '../../support/failure-of.js';
import { freshDatabases } from '../../support/service/servers.js';

const timeoutMs = 5_000;

describe('ChangeLog', () => {
  let mongo: Mongo;
  let log: ChangeLog;

  beforeEach(async () => {
    mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
    log = new ChangeLog(mongo.database);
    await log.prepare();
  });
  afterEach(() => mongo.client.close());

  const data = () => mongo.database.collection<{ _id: string }>('data');
  const entries = () => mongo.database.collection<{ _id: number }>('changes');
  const change = (id: string) =>
    logged(mongo.database, async (session) => {
      await data().insertOne({ _id: id }, { session });
      return { result: id, change: { kind: 'model', id } };
    });
  const since = (number?: number): Promise<ChangesSince> => log.since(number, timeoutMs);
  const idsSince = async (number: number) => (await since(number)).changes?.map(({ id }) => id);

  it('has each change that was written, and numbers those at once one by one', async () => {
    expect(await since()).to.deep.equal({ last: 0, changes: undefined });
    expect(await since(0)).to.deep.equal({ last: 0, changes: [] });
    const ids = Array.from({ length: 20 }, (_, index) => `change ${index}`);
    expect(await Promise.all(ids.map(change))).to.deep.equal(ids);
    const { last, changes } = await since(0);
    expect(last).to.equal(20);
    expect(changes?.map(({ id }) => id).sort()).to.deep.equal(ids.sort());
    expect(await idsSince(19)).to.have.length(1);
    expect(await idsSince(20)).to.deep.equal([]);
  });

  it('has no change whose write failed, and no write whose change failed', async () => {
    await change('a');
    expect(await failureOf(change('a'))).to.have.property('code', 11_000);
    await entries().insertOne({ _id: 2 });
    expect(await failureOf(change('b'))).to.have.property('code', 11_000);
    expect(await data().countDocuments()).to.equal(1);
    expect((await since(1)).last).to.equal(1);
  });

  it('has no entry for a write that changed nothing', async () => {
    await logged(mongo.database, async () => ({ result: undefined, change: undefined }));
    expect(await since()).to.include({ last: 0 });
  });

  it('does not answer with changes when some are missing, or when a backup was restored', async () => {
    for (const id of ['a', 'b', 'c']) await change(id);
    expect(await idsSince(1)).to.deep.equal(['b', 'c']);
    expect(await since(4)).to.deep.equal({ last: 3, changes: undefined });
    await entries().deleteOne({ _id: 2 });
    expect(await since(1)).to.deep.equal({ last: 3, changes: undefined });
    expect(await idsSince(2)).to.deep.equal(['c']);
  });

  it('removes changes after an hour', async () => {
    const indexes = await entries().indexes();
    expect(indexes.map(({ expireAfterSeconds }) => expireAfterSeconds)).to.include(3_600);
  });
});
