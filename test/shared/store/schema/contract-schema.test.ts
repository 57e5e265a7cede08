import { expect } from 'chai';
import { connectMongo, type Db, type Mongo } from '../../../../shared/store/connection/connect.js';
import {
  type ContractStep,
  contractSchema,
  contractSteps,
  pendingContract,
} from '../../../../shared/store/schema/contract-schema.js';
import { migrateSchema } from '../../../../shared/store/schema/migrate-schema.js';
import { readSchemaState, type SchemaState, schemaStates } from '../../../../shared/store/schema/schema-state.js';
import { schemaSteps } from '../../../../shared/store/schema/schema-steps.js';
import { failureOf } from '../../../support/failure-of.js';
import { dyingAfter } from '../../../support/scoring/dying-database.js';
import { freshDatabases } from '../../../support/service/servers.js';

describe('contract steps', () => {
  let mongo: Mongo;

  beforeEach(async () => {
    mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
  });
  afterEach(() => mongo.client.close());

  const state = () => readSchemaState(mongo.database);
  const setState = (fields: Partial<SchemaState>) =>
    schemaStates(mongo.database).updateOne({ _id: 'schema' }, { $set: fields }, { upsert: true });
  /** Each removes a member from all documents. */
  const removing = (...levels: readonly number[]): ContractStep[] =>
    levels.map((level) => ({
      ...{ level, name: `step ${level}`, reads: ['things'] },
      run: async (database: Db) => {
        await database.collection('things').updateMany({}, { $unset: { [`old${level}`]: 1 } });
      },
    }));
  const things = async () => {
    const found = await mongo.database.collection('things').find().project({ _id: 0 }).toArray();
    return found.flatMap((thing) => Object.keys(thing));
  };
  const fill = () => mongo.database.collection('things').insertOne({ old2: 1, old3: 1, old4: 1, kept: 1 });

  it('rise, and each has an expand step', () => {
    const levels = contractSteps.map(({ level }) => level);
    expect(levels).to.deep.equal([...new Set(levels)].sort((one, other) => one - other));
    expect(schemaSteps.map(({ level }) => level)).to.include.members(levels);
  });

  it('run in their order up to the level of the database, and raise the level from which it can be used', async () => {
    await fill();
    await setState({ at: 3, usable_from: 0, release: '0.1.0' });
    const steps = removing(2, 3, 4);
    const begun: number[] = [];
    const done = await contractSchema(mongo.database, { steps, onStep: ({ level }) => begun.push(level) });
    expect([begun, done.map(({ level }) => level)]).to.deep.equal([
      [2, 3],
      [2, 3],
    ]);
    expect(await state())
      .to.include({ at: 3, usable_from: 3, contracted: 3 })
      .and.not.have.property('running');
    expect(await things()).to.deep.equal(['old4', 'kept']);
    expect(await contractSchema(mongo.database, { steps })).to.deep.equal([]);
    expect(pendingContract({ at: 4, contracted: 3 }, steps).map(({ level }) => level)).to.deep.equal([4]);
  });

  it('end in the same database when they were killed at each operation and begun again', async () => {
    const steps = removing(2, 3, 4);
    let killed = 0;
    for (let isDone = false; !isDone; killed += 1) {
      await mongo.database.dropDatabase();
      await fill();
      await setState({ at: 4, usable_from: 1, release: '0.1.0' });
      const run = contractSchema(dyingAfter(mongo.database, killed), { steps, leaseMs: 20 });
      isDone = await run.then(
        () => true,
        (error: Error) => {
          expect(error.message).to.equal('killed');
          return false;
        },
      );
      const { usable_from: usable = 0, contracted = 0 } = (await state()) ?? {};
      // An older process never meets what is half removed.
      const removed = [2, 3, 4].filter((level) => level <= usable).map((level) => `old${level}`);
      const stay = await things();
      for (const name of ['old2', 'old3', 'old4'])
        if (!removed.includes(name)) expect(stay, `usable from ${usable}`).to.include(name);
      expect(contracted).to.be.at.most(usable);
      await contractSchema(mongo.database, { steps, leaseMs: 20 });
      expect(await things()).to.deep.equal(['kept']);
      expect(await state()).to.include({ at: 4, usable_from: 4, contracted: 4 });
    }
    // Each step removes its members between two changes of the state.
    expect(killed).to.be.greaterThan(3 * steps.length);
  });

  it('have nothing to do in a new database', async () => {
    await migrateSchema(mongo.database);
    expect(pendingContract((await state()) ?? {})).to.deep.equal([]);
  });

  it('leave the lease to another run after a failure', async () => {
    await setState({ at: 2, usable_from: 0, release: '0.1.0' });
    const [step] = removing(2);
    if (step === undefined) throw new Error('no step');
    const failing = { ...step, run: () => Promise.reject(new Error('no disk')) };
    expect(((await failureOf(contractSchema(mongo.database, { steps: [failing] }))) as Error).message).to.equal(
      'no disk',
    );
    expect(await state())
      .to.include({ usable_from: 2 })
      .and.not.have.any.keys('running', 'contracted');
    expect(await contractSchema(mongo.database, { steps: [step] })).to.have.length(1);
  });
});
