import { once } from 'node:events';
import { expect } from 'chai';
import { createLogger } from '../../../shared/process/logger.js';
import { modelStrikesKey, payloadKey, replyStreamKey } from '../../../shared/redis/keys.js';
import { chunkDeathHandler } from '../../../worker/lanes/chunk-death.js';
import { quarantinedVersions } from '../../../worker/pool/quarantine.js';
import { eventually } from '../../support/eventually.js';
import { gateway, type LaneRig, laneRig, scoredBy } from '../../support/lane-rig.js';

describe('a chunk that ended its worker process', () => {
  let rig: LaneRig;
  let scored: string[];

  beforeEach(async () => {
    scored = [];
    rig = await laneRig(
      scoredBy(async (chunk) => {
        scored.push(chunk);
        return { chunk, parts: [] };
      }),
    );
  });
  afterEach(() => rig.close());

  for (const [cause, does] of [
    ['crash', 'crashed'],
    ['hang', 'hung'],
  ] as const)
    for (const inJob of [true, false])
      it(`is answered at once when it ${does}, and not scored again${inJob ? '' : ', if it is long'}`, async () => {
        await rig.worker.pause();
        await rig.send('one', { inJob });
        const handle = chunkDeathHandler({ redis: rig.redis, logger: createLogger('silent', 'test') });
        handle({ chunk: 'one', partition: 0, gateway, model: 'mdl', version: '1' }, cause);
        await eventually(async () => expect(await rig.redis.hkeys(modelStrikesKey)).to.deep.equal(['mdl:1']));
        const [[, [, reply]]] = (await rig.redis.xrange(replyStreamKey(gateway), '-', '+')) as [[string, string[]]];
        expect(JSON.parse(reply ?? '')).to.deep.equal({
          chunk: 'one',
          parts: [],
          failure: { code: 'scoring_failed', message: `a worker ${does} while it worked on the records` },
        });
        expect(await rig.redis.exists(payloadKey({ partition: 0, chunk: 'one' }))).to.equal(0);
        const completed = once(rig.worker, 'completed');
        rig.worker.resume();
        await completed;
        expect(scored).to.deep.equal([]);
        expect(await rig.redis.xlen(replyStreamKey(gateway))).to.equal(1);
      });

  it('quarantines its version with the second death, whatever the partitions of the chunks', async () => {
    const handle = chunkDeathHandler({ redis: rig.redis, logger: createLogger('silent', 'test') });
    for (const partition of [0, 5]) handle({ chunk: 'one', partition, gateway, model: 'mdl', version: '1' }, 'hang');
    await eventually(async () => expect(await quarantinedVersions(rig.redis)).to.deep.equal(['mdl:1']));
  });
});
