import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { MongoClient } from 'mongodb';
import { JobUploadStore } from '../../../shared/store/jobs/job-uploads.js';
import { freshDatabases } from '../../support/service/servers.js';

describe('the removal of an upload', () => {
  let client: MongoClient;
  let uploads: JobUploadStore;
  /** The numbers of documents that each `delete` has removed. */
  let removed: number[];

  before(async () => {
    client = new MongoClient((await freshDatabases()).mongoUrl, { monitorCommands: true });
    client.on('commandSucceeded', ({ commandName, reply }) => {
      if (commandName === 'delete') removed.push((reply as { n: number }).n);
    });
    uploads = new JobUploadStore(client.db());
    await uploads.prepare();
  });
  beforeEach(() => {
    removed = [];
  });
  after(() => client.close());

  async function upload(parts: number): Promise<string> {
    const job = `job_${randomUUID()}`;
    let end = await uploads.end(job);
    for (let part = 0; part < parts; part += 1) end = await uploads.append(job, end, Buffer.from([part]));
    return job;
  }

  const left = async (job: string): Promise<number[]> => {
    const bytes: number[] = [];
    for await (const part of uploads.read(job)) bytes.push(...part);
    return bytes;
  };

  for (const parts of [0, 1, 16, 17, 40])
    it(`takes all of ${parts} parts, at most sixteen at once, and none of other jobs`, async () => {
      const [before, own, after] = [await upload(3), await upload(parts), await upload(3)];
      await uploads.removeInSteps(own);
      expect(await left(own)).to.deep.equal([]);
      for (const other of [before, after]) expect(await left(other)).to.deep.equal([0, 1, 2]);
      expect(removed.reduce((sum, count) => sum + count, 0)).to.equal(parts);
      expect(Math.max(0, ...removed)).to.equal(Math.min(16, parts));
    });

  it('is one step when a caller waits for it', async () => {
    const [own, after] = [await upload(40), await upload(3)];
    await uploads.remove(own);
    expect([await left(own), await left(after)]).to.deep.equal([[], [0, 1, 2]]);
    expect(removed).to.deep.equal([40]);
  });

  it('leaves the parts of the upload that replaces another one', async () => {
    const job = await upload(40);
    await uploads.removeBefore(job, 38);
    expect(await left(job)).to.deep.equal([38, 39]);
  });

  it('ends after a step when the process stops, and a later one takes the rest', async () => {
    const job = await upload(40);
    await uploads.removeInSteps(job, AbortSignal.abort());
    expect(await left(job)).to.have.length(24);
    await uploads.removeInSteps(job);
    expect(await left(job)).to.deep.equal([]);
  });
});
