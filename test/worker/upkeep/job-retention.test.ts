import { expect } from 'chai';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { createJob } from '../../../shared/store/jobs/create-job.js';
import { SliceStore } from '../../../shared/store/jobs/job-slices.js';
import { removeOldJobs } from '../../../worker/upkeep/retention.js';
import { sampleJob } from '../../support/jobs/sample-job.js';
import { freshDatabases } from '../../support/service/servers.js';

const nowMs = Date.UTC(2026, 1, 10);

describe('removeOldJobs', () => {
  let mongo: Mongo;

  before(async () => {
    mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
    await prepareDatabase(mongo.database);
  });
  after(() => mongo.client.close());

  const count = (name: string) => mongo.database.collection(name).countDocuments();

  it('removes jobs that are past retention with their files, and no others', async () => {
    const slices = new SliceStore(mongo.database);
    const add = async (number: number, purgeAtMs: number): Promise<void> => {
      const _id = `job_retain${String(number).padStart(20, '0')}`;
      const job = sampleJob({ _id, org: 'org_retain', state: 'completed', purge_at: new Date(purgeAtMs) });
      await createJob(mongo.database, job, 1);
      const slice = { number: 0, rows: 1, first_row: 1, first_line: 2 };
      await slices.add(_id, [{ slice, input: Buffer.from('rows') }]);
    };
    for (let number = 0; number < 45; number += 1) await add(number, nowMs - number);
    await add(45, nowMs + 1);
    expect(await removeOldJobs({ database: mongo.database, nowMs })).to.equal(45);
    expect(await removeOldJobs({ database: mongo.database, nowMs })).to.equal(0);
    for (const name of ['jobs', 'job_slices', 'job_blobs']) expect(await count(name), name).to.equal(1);
  });
});
