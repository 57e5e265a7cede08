import { expect } from 'chai';
import { inSnapshot } from '../../../worker/grading/in-snapshot.js';
import { eventually } from '../../support/eventually.js';
import { failureOf } from '../../support/failure-of.js';
import { gradingDatabase } from './grade-at.js';

describe('a snapshot that a grade reads', () => {
  const mongo = gradingDatabase();

  const keepSnapshots = (seconds: number): Promise<unknown> =>
    mongo.client.db('admin').command({ setParameter: 1, minSnapshotHistoryWindowInSeconds: seconds });

  afterEach(() => keepSnapshots(300));

  it('that MongoDB has given up meanwhile leads to an error that says what to set', async () => {
    const { database } = mongo;
    await keepSnapshots(0);
    let reads = 0;
    const grade = inSnapshot(database, async (session) => {
      reads += 1;
      const read = () => database.collection('calls').findOne({}, { session });
      await read();
      // Time goes on for MongoDB when something is written.
      const failed = await eventually(async () => {
        await database.collection('written').insertOne({}, { writeConcern: { w: 'majority' } });
        const problem = await read().catch((error: unknown) => error);
        if (!(problem instanceof Error)) throw new Error('the snapshot is still there');
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
