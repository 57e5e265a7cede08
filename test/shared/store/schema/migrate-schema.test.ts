import { EventEmitter, once } from 'node:events';
import { expect } from 'chai';
import { ownLevel } from '../../../../shared/process/release.js';
import { connectMongo, type Db, type Mongo } from '../../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../../shared/store/connection/prepare-database.js';
import { migrateSchema } from '../../../../shared/store/schema/migrate-schema.js';
import { LeaseLost } from '../../../../shared/store/schema/schema-lease.js';
import {
  readSchemaState,
  type SchemaRun,
  type SchemaState,
  schemaProblemOf,
  schemaStates,
} from '../../../../shared/store/schema/schema-state.js';
import { type SchemaStep, schemaSteps } from '../../../../shared/store/schema/schema-steps.js';
import { failureOf } from '../../../support/failure-of.js';
import { freshDatabases } from '../../../support/service/servers.js';

describe('the schema number', () => {
  let mongo: Mongo;
  let mongoUrl: string;

  beforeEach(async () => {
    ({ mongoUrl } = await freshDatabases());
    mongo = await connectMongo(mongoUrl, { name: 'test' });
  });
  afterEach(() => mongo.client.close());

  const state = () => readSchemaState(mongo.database);
  const setState = (fields: Partial<SchemaState>) =>
    schemaStates(mongo.database).updateOne({ _id: 'schema' }, { $set: fields }, { upsert: true });
  const messageOf = async (work: Promise<unknown>): Promise<string> => ((await failureOf(work)) as Error).message;

  /** Steps that note their runs in a collection. */
  const noting = (levels: readonly number[], run?: (level: number) => Promise<void>): SchemaStep[] =>
    levels.map((level) => ({
      ...{ level, name: `step ${level}`, reads: [] },
      run: async (database: Db) => {
        await database.collection<{ _id: number }>('ran').insertOne({ _id: Date.now() * 10 + level });
        await run?.(level);
      },
    }));
  const ran = async (): Promise<number[]> =>
    (await mongo.database.collection<{ _id: number }>('ran').find().sort({ $natural: 1 }).toArray()).map(
      ({ _id }) => _id % 10,
    );

  it('counts the steps without a gap, and the last one is the level of this release', () => {
    expect(schemaSteps.map(({ level }) => level)).to.deep.equal(schemaSteps.map((_, index) => index + 1));
    expect(schemaSteps.at(-1)?.level).to.equal(ownLevel);
  });

  it('names collections that exist as those that a step reads', async () => {
    await prepareDatabase(mongo.database);
    const names = (await mongo.database.listCollections().toArray()).map(({ name }) => name);
    expect(names).to.include.members(schemaSteps.flatMap(({ reads }) => reads));
  });

  it('is written with all collections and indexes when several processes start on an empty database', async () => {
    expect(await schemaProblemOf(mongo.database)).to.equal(undefined);
    const others = await Promise.all([1, 2].map(() => connectMongo(mongoUrl, { name: 'test' })));
    await Promise.all([mongo, ...others].map(({ database }) => prepareDatabase(database)));
    for (const { client } of others) await client.close();
    const { release, ...rest } = (await state()) ?? {};
    expect(rest).to.deep.equal({ _id: 'schema', at: ownLevel, usable_from: 0 });
    expect(release).to.match(/^\d/);
    const keys = (await mongo.database.collection('api_keys').indexes()).map(({ key }) => JSON.stringify(key));
    expect(keys).to.include('{"hash":1}');
    expect((await mongo.database.collection('job_slices').options()).clusteredIndex).to.be.an('object');
  });

  it('is waited for by a start that sees the first collection of another one before the number', async () => {
    await mongo.database.createCollection('settings');
    const { database, isListed } = notingLists(mongo.database);
    const starting = prepareDatabase(database);
    await isListed;
    await setState({ at: 0, usable_from: 0, release: '0.1.0', is_new: true });
    await starting;
    expect(await state()).to.include({ at: ownLevel });
  });

  it('lets a later start write nothing to the database', async () => {
    await prepareDatabase(mongo.database);
    await mongo.database.collection('api_keys').dropIndexes();
    await prepareDatabase(mongo.database);
    expect(await mongo.database.collection('api_keys').indexes()).to.have.length(1);
    await migrateSchema(mongo.database, { again: true });
    expect(await mongo.database.collection('api_keys').indexes()).to.have.length.above(1);
  });

  it('is missing in a database of an earlier release: a start changes nothing and names the command', async () => {
    await mongo.database.collection('orgs').insertOne({ name: 'Acme' });
    const message = await messageOf(prepareDatabase(mongo.database));
    expect(message).to.include('has no schema number').and.include('Run `npx leadscore migrate`.');
    expect((await mongo.database.listCollections().toArray()).map(({ name }) => name)).to.deep.equal(['orgs']);
    await migrateSchema(mongo.database);
    await prepareDatabase(mongo.database);
    expect(await state())
      .to.include({ at: ownLevel })
      .and.not.have.property('is_new');
  });

  it('is lower than this release needs: refused with both numbers', async () => {
    await setState({ at: ownLevel - 1, usable_from: 0, release: '0.0.9' });
    expect(await messageOf(prepareDatabase(mongo.database)))
      .to.include(`has schema ${ownLevel - 1}`)
      .and.include(`needs schema ${ownLevel}`);
  });

  it('is of a later release that this one cannot use: refused, and the release is named', async () => {
    await prepareDatabase(mongo.database);
    await setState({ at: ownLevel + 2, usable_from: ownLevel + 1, release: '9.1.0' });
    expect(await messageOf(prepareDatabase(mongo.database))).to.include('Release 9.1.0 has changed the database');
    expect(await schemaProblemOf(mongo.database)).to.include({ code: 'database_newer' });
    await setState({ usable_from: ownLevel });
    await prepareDatabase(mongo.database);
  });

  it('rises step by step: a run that failed begins with the step that had not ended', async () => {
    const failing = noting([1, 2, 3], async (level) => {
      if (level === 2) throw new Error('killed');
    });
    await mongo.database.collection('orgs').insertOne({ name: 'Acme' });
    expect(await messageOf(migrateSchema(mongo.database, { steps: failing }))).to.equal('killed');
    expect(await state())
      .to.include({ at: 1 })
      .and.not.have.property('running');
    const begun: number[] = [];
    const onStep = ({ level }: SchemaStep) => begun.push(level);
    const done = await migrateSchema(mongo.database, { steps: noting([1, 2, 3]), onStep });
    expect([begun, done.map(({ level }) => level)]).to.deep.equal([
      [2, 3],
      [2, 3],
    ]);
    expect(await ran()).to.deep.equal([1, 2, 2, 3]);
    expect(await migrateSchema(mongo.database, { steps: noting([1, 2, 3]) })).to.deep.equal([]);
    expect(await state()).to.include({ at: 3 });
  });

  it('is raised by one of several runs at once; the others wait and do nothing', async () => {
    const waited = new Map<number, SchemaRun>();
    const waits = new EventEmitter();
    const othersWait = once(waits, 'all');
    const steps = noting([1, 2], async () => {
      await othersWait;
    });
    const onWaitOf = (number: number) => (other: SchemaRun) => {
      waited.set(number, other);
      if (waited.size === 2) waits.emit('all');
    };
    const runs = [1, 2, 3].map((number) => migrateSchema(mongo.database, { steps, onWait: onWaitOf(number) }));
    const done = await Promise.all(runs);
    expect(done.map(({ length }) => length).sort()).to.deep.equal([0, 0, 2]);
    expect(await ran()).to.deep.equal([1, 2]);
    for (const { by } of waited.values()) expect(by).to.match(/:\d+$/);
  });

  it('does not wait for ever for a run that was killed: its lease ends', async () => {
    await prepareDatabase(mongo.database);
    const dead = { id: 'dead', by: 'web-1:210', step: 'an index' };
    await setState({ at: 0, running: { ...dead, until: new Date(Date.now() + 700) } });
    const seen: SchemaRun[] = [];
    const done = await migrateSchema(mongo.database, { steps: noting([1]), onWait: (other) => seen.push(other) });
    expect(seen[0]).to.include(dead);
    expect(done).to.have.length(1);
    expect(await state())
      .to.include({ at: 1 })
      .and.not.have.property('running');
  });

  it('keeps its lease while a step takes longer, and writes nothing once another run has it', async () => {
    const leaseMs = 3_000;
    const slow = noting([1], () => new Promise((resolve) => setTimeout(resolve, 1.5 * leaseMs)));
    const two = [1, 2].map(() => migrateSchema(mongo.database, { steps: slow, leaseMs }));
    expect((await Promise.all(two)).map(({ length }) => length).sort()).to.deep.equal([0, 1]);
    expect(await ran()).to.deep.equal([1]);
    const robbed = noting([2], async () => {
      await setState({ running: { id: 'other', by: 'web-2:1', until: new Date(Date.now() + 60_000) } });
    });
    expect(await failureOf(migrateSchema(mongo.database, { steps: robbed }))).to.be.instanceOf(LeaseLost);
    expect(await state()).to.include({ at: 1 });
    expect((await state())?.running).to.include({ id: 'other' });
  });
});

/** A database, and the first time at which its collections are listed, to find out whether it is empty. */
function notingLists(database: Db): { readonly database: Db; readonly isListed: Promise<unknown> } {
  const lists = new EventEmitter();
  const noting = new Proxy(database, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        if (name === 'listCollections') lists.emit('listed');
        return value.apply(target, given);
      };
    },
  });
  return { database: noting, isListed: once(lists, 'listed') };
}
