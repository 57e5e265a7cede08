import { Queue, Worker } from 'bullmq';
import { expect } from 'chai';
import { laneQueueName, messageVersion } from '../../shared/messages/score-job.js';
import { partitionPrefix, payloadKey, replyStreamKey } from '../../shared/redis/keys.js';
import { eventually } from '../support/eventually.js';
import { gateway, type LaneRig, laneRig, partition, scoredBy } from '../support/lane-rig.js';

interface TomorrowsJob {
  readonly chunk: string;
}

describe('a job of a later message version', () => {
  let rig: LaneRig;
  let scored: string[];
  let ofTomorrow: Queue<TomorrowsJob>;

  beforeEach(async () => {
    scored = [];
    const score = async (chunk: string) => {
      scored.push(chunk);
      return { chunk, parts: [] };
    };
    rig = await laneRig(scoredBy(score));
    ofTomorrow = new Queue<TomorrowsJob>(laneQueueName('singles', messageVersion + 1), {
      connection: rig.connect(),
      prefix: partitionPrefix(partition),
    });
  });
  afterEach(async () => {
    await ofTomorrow.close();
    await rig.close();
  });

  it('waits for a worker of its version and does not delay other jobs', async () => {
    await rig.redis.set(payloadKey({ partition, chunk: 'of-tomorrow' }), '', 'PX', 60_000);
    await ofTomorrow.add('chunk', { chunk: 'of-tomorrow' }, { jobId: 'of-tomorrow', removeOnComplete: true });
    await rig.send('of-today', {});
    await eventually(() => expect(scored).to.deep.equal(['of-today']));
    expect(await rig.redis.xlen(replyStreamKey(gateway))).to.equal(1);
    expect(await ofTomorrow.getJobCounts('wait', 'active', 'delayed')).to.deep.equal({
      wait: 1,
      active: 0,
      delayed: 0,
    });

    const taken: string[] = [];
    const take = async ({ data }: { readonly data: TomorrowsJob }) => {
      taken.push(data.chunk);
    };
    const theirs = new Worker<TomorrowsJob>(ofTomorrow.name, take, {
      connection: rig.connect(),
      prefix: partitionPrefix(partition),
    });
    try {
      await eventually(() => expect(taken).to.deep.equal(['of-tomorrow']));
      await eventually(async () => expect(await ofTomorrow.count()).to.equal(0));
    } finally {
      await theirs.close();
    }
    expect(scored).to.deep.equal(['of-today']);
  });
});
