import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { ObjectId } from 'mongodb';
import { machineClock } from '../../../shared/contract/dates.js';
import { bundleCheckQueueName, requestBundleCheck } from '../../../shared/messages/bundle-check-job.js';
import { createLogger } from '../../../shared/process/logger.js';
import { connectRedis } from '../../../shared/redis/connect.js';
import { queuePrefix } from '../../../shared/redis/keys.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { UploadStore } from '../../../shared/store/console/uploads.js';
import { startBundleChecks } from '../../../worker/bundle-checks/bundle-check-lane.js';
import { eventually } from '../../support/eventually.js';
import { hangingBundle } from '../../support/faults/fault-models.js';
import { tarArchive, tarEntries } from '../../support/models/tar-archive.js';
import { freshDatabases } from '../../support/service/servers.js';

/** A pool has 30 s to stop, and the check may take 120 s. */
const maxStopMs = 10_000;

describe('startBundleChecks', () => {
  let mongo: Mongo;
  let redis: Redis;
  let redisUrl: string;

  before(async () => {
    const databases = await freshDatabases();
    redisUrl = databases.redisUrl;
    mongo = await connectMongo(databases.mongoUrl, { name: 'test' });
    redis = new Redis(redisUrl);
  });
  after(async () => {
    redis.disconnect();
    await mongo.client.close();
  });

  it('stops while a bundle hangs, and leaves its check to another pool', async () => {
    const uploads = new UploadStore(mongo.database);
    const golden = Buffer.from('{"record":{"company_size":5},"score":3}\n');
    const files = new Map([...hangingBundle(), ['golden.jsonl', golden] as const]);
    const archive = gzipSync(await tarArchive(tarEntries(files, '')));
    const _id = new ObjectId();
    const file = await uploads.storeFile(archive);
    await uploads.create({ _id, org: 'org_a', state: 'received', file, bytes: archive.length, created_at: new Date() });
    await requestBundleCheck(redis, String(_id));
    const logger = createLogger('silent', 'test');
    const blocking = connectRedis({ url: redisUrl, name: 'test', kind: 'blocking', logger });
    const checks = await startBundleChecks({ database: mongo.database, clock: machineClock(), blocking, logger });
    const stateNow = async () => (await uploads.find(String(_id)))?.state;
    try {
      await eventually(async () => expect(await stateNow()).to.equal('scoring'), 30_000);
    } finally {
      const startMs = performance.now();
      await checks.stop();
      blocking.disconnect();
      expect(performance.now() - startMs).to.be.below(maxStopMs);
    }
    expect(await stateNow()).to.equal('scoring');
    const waiting = await redis.zrange(`${queuePrefix}:${bundleCheckQueueName}:delayed`, 0, '-1');
    expect(waiting).to.deep.equal([String(_id)]);
  }).timeout(60_000);
});
