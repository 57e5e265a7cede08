import { expect } from 'chai';
import { type Document, Long } from 'mongodb';
import { connectMongo, type Mongo } from '../../../../shared/store/connection/connect.js';
import { inSnapshot, readInBatches, type Snapshot } from '../../../../worker/grading/cohort/snapshot.js';
import { eventually } from '../../../support/eventually.js';
import { failureOf } from '../../../support/failure-of.js';
import { freshDatabases } from '../../../support/service/servers.js';
import { gradingDatabase } from '../grade-at.js';

interface Found {
  readonly _id: number;
  readonly values: readonly number[];
}

const command = { find: 'found', filter: {}, projection: { values: 1 }, hint: { _id: 1 } };
const size = { first: 2, max: 50, records: 100, recordsOf: ({ values }: Found) => values.length };

describe('readInBatches', () => {
  let mongo: Mongo;
  let snapshot: Snapshot;

  beforeEach(async () => {
    mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
    // 100 documents of ten values each, then 100 documents of one value.
    await mongo.database.collection<Found>('found').insertMany(
      Array.from({ length: 200 }, (_, _id) => ({ _id, values: Array(_id < 100 ? 10 : 1).fill(0) })),
      { writeConcern: { w: 'majority' } },
    );
    snapshot = { database: mongo.database, session: mongo.client.startSession({ snapshot: true }) };
  });
  afterEach(async () => {
    await snapshot.session.endSession();
    await mongo.client.close();
  });

  const openCursors = async (): Promise<number> => {
    const { cursors } = await mongo.client
      .db('admin')
      .aggregate([
        { $currentOp: { idleCursors: true } },
        { $match: { ns: `${mongo.database.databaseName}.found`, type: 'idleCursor' } },
        { $group: { _id: null, cursors: { $sum: 1 } } },
      ])
      .toArray()
      .then(([group]) => ({ cursors: Number(group?.cursors ?? 0) }));
    return cursors;
  };

  it('returns every document once, in batches of the target number of records', async () => {
    const sizes: number[] = [];
    const ids: number[] = [];
    for await (const found of readInBatches<Found>(snapshot, command, size)) {
      sizes.push(found.length);
      ids.push(...found.map(({ _id }) => _id));
    }
    expect(ids).to.deep.equal(Array.from({ length: 200 }, (_, _id) => _id));
    expect(sizes.slice(0, 4)).to.deep.equal([2, 10, 10, 10]);
    expect(Math.max(...sizes)).to.equal(50);
    expect(await openCursors()).to.equal(0);
  });

  it('returns deleted documents that the snapshot still contains', async () => {
    let count = 0;
    for await (const found of readInBatches<Found>(snapshot, command, size)) {
      if (count === 0) await mongo.database.collection<Found>('found').deleteMany({ _id: { $gte: 50 } });
      count += found.length;
    }
    expect(count).to.equal(200);
    let again = 0;
    for await (const found of readInBatches<Found>(snapshot, command, size)) again += found.length;
    expect(again).to.equal(200);
  });

  it('kills the cursor if the reader stops early', async () => {
    for await (const found of readInBatches<Found>(snapshot, command, size)) {
      expect(found.length).to.equal(2);
      expect(await openCursors()).to.equal(1);
      break;
    }
    await eventually(async () => expect(await openCursors()).to.equal(0));
  });

  it('sends cursor ids as 64-bit integers, also if the driver decoded them as numbers', async () => {
    const asked: Document[] = [];
    const answers = [
      { id: 7, firstBatch: [1] },
      { id: 7, nextBatch: [2] },
      { id: Long.ZERO, nextBatch: [3] },
    ];
    const database = Object.assign(snapshot.database.client.db(), {
      command: async (sent: Document) => {
        asked.push(sent);
        return { cursor: answers.shift() };
      },
    });
    const found: number[] = [];
    const one = { first: 1, max: 1, records: 1, recordsOf: () => 1 };
    for await (const numbers of readInBatches<number>({ ...snapshot, database }, command, one)) found.push(...numbers);
    expect(found).to.deep.equal([1, 2, 3]);
    expect(asked.slice(1).map(({ getMore }) => getMore)).to.deep.equal([Long.fromNumber(7), Long.fromNumber(7)]);
  });

  it('returns no batch if the command finds nothing', async () => {
    const nothing = { ...command, filter: { _id: -1 } };
    for await (const found of readInBatches<Found>(snapshot, nothing, size)) expect.fail(`${found.length} found`);
  });
});

describe('inSnapshot', () => {
  const mongo = gradingDatabase();

  const keepSnapshots = (seconds: number): Promise<unknown> =>
    mongo.client.db('admin').command({ setParameter: 1, minSnapshotHistoryWindowInSeconds: seconds });

  afterEach(() => keepSnapshots(300));

  it('throws an error that names the parameter to raise if MongoDB has discarded the snapshot', async () => {
    const { database } = mongo;
    await keepSnapshots(0);
    let reads = 0;
    const grade = inSnapshot(database, async (session) => {
      reads += 1;
      const read = () => database.collection('calls').findOne({}, { session });
      await read();
      // MongoDB's logical clock only advances with writes.
      const failed = await eventually(async () => {
        await database.collection('written').insertOne({}, { writeConcern: { w: 'majority' } });
        const problem = await read().catch((error: unknown) => error);
        if (!(problem instanceof Error)) throw new Error('the snapshot still exists');
        return problem;
      }, 10_000);
      throw failed;
    });
    const error = await failureOf(grade);
    expect(error.message).to.include('minSnapshotHistoryWindowInSeconds');
    expect(error).to.have.nested.property('cause.codeName', 'SnapshotTooOld');
    expect(reads).to.equal(1);
  });
});
