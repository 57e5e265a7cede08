import { Queue } from 'bullmq';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { GradeRequests } from '../../../../api/routes/outcomes/grade-requests.js';
import { gradingQueueName } from '../../../../shared/messages/grading-job.js';
import { createLogger } from '../../../../shared/process/logger.js';
import { queuePrefix } from '../../../../shared/redis/keys.js';
import { eventually } from '../../../support/eventually.js';
import { freshDatabases } from '../../../support/service/servers.js';

const logger = createLogger('silent', 'test');

describe('GradeRequests', () => {
  let redis: Redis;
  let queue: Queue;

  before(async () => {
    redis = new Redis((await freshDatabases()).redisUrl);
    queue = new Queue(gradingQueueName, { connection: redis, prefix: queuePrefix });
  });
  after(async () => {
    await queue.close();
    redis.disconnect();
  });

  it('queues one grade a minute later for each organisation, also from several gateways', async () => {
    const [one, other] = [new GradeRequests({ redis, logger }), new GradeRequests({ redis, logger })];
    for (let call = 0; call < 5; call += 1) one.request('org_a');
    await eventually(async () => expect(await queue.getDelayedCount()).to.equal(1));
    other.request('org_a');
    other.request('org_b');
    await eventually(async () => expect(await queue.getDelayedCount()).to.equal(2));
    const jobs = await queue.getDelayed();
    expect(jobs.map(({ name, data }) => [name, data.organisationId])).to.have.deep.members([
      ['grade-organisation', 'org_a'],
      ['grade-organisation', 'org_b'],
    ]);
    expect(jobs.map(({ delay }) => delay)).to.deep.equal([60_000, 60_000]);
  });

  it('does not throw without Redis', async () => {
    const gone = new Redis({ port: 1, lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null });
    gone.on('error', () => undefined);
    new GradeRequests({ redis: gone, logger }).request('org_a');
    await eventually(() => expect(gone.status).to.equal('end'));
  });
});
