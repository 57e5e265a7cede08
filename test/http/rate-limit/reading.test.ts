import { expect } from 'chai';
import { type RateWindow, rateWindowKey } from '../../../shared/redis/keys.js';
import { refused, scored } from '../../support/http/score-reply.js';
import type { RunningService } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace } from '../../support/service/workspace.js';
import type { UsableKey } from '../../support/service/workspace-parts.js';
import { read } from '../scores/history.js';

const lead = { company_size: 120, lead_source: 'Referral' };

describe('rate limit of the reading endpoints', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  });

  it('returns RateLimit headers with ten times the rate of scoring', async () => {
    const key = await own.addKey('live', { rate: 3 });
    const reply = await own.call('/v1/usage', { key });
    expect(reply.headers.get('ratelimit-policy')).to.equal('"key";q=30;w=1');
    expect(reply.headers.get('ratelimit')).to.equal('"key";r=29;t=1');
    const scoring = await own.score([lead], { key });
    expect(scoring.headers.get('ratelimit-policy')).to.equal('"key";q=3;w=1');
    expect(scoring.headers.get('ratelimit')).to.equal('"key";r=2;t=1');
  });

  /** Fills a window of a key with calls of now. */
  const fill = async (key: UsableKey, window: RateWindow, calls: number) => {
    const [seconds = 0, micros = 0] = await service.redis.time();
    const nowUs = Number(seconds) * 1_000_000 + Number(micros);
    const slots = Array.from({ length: calls }, (_, call) => [nowUs, `filled ${call}`]).flat();
    await service.redis.zadd(rateWindowKey(own.id, key.key._id, window), ...slots);
  };

  it('counts the slots of DELETE apart, at the rate of scoring', async () => {
    const key = await own.addKey('live', { rate: 3 });
    const path = '/v1/scores/L-1';
    const erase = () => own.call(path, { method: 'DELETE', key });
    expect((await erase()).headers.get('ratelimit-policy')).to.equal('"key";q=3;w=1');
    await fill(key, 'erasing', 3);
    const limited = await erase();
    expect(refused(limited, '429 rate_limited').error.message).to.include('More than 3 erasures within a second');
    expect(limited.headers.get('retry-after')).to.equal('1');
    refused(await own.call(path, { key }), '404 not_found');
    scored(await own.score([lead], { key }));
  });

  it('counts the slots of reading and scoring apart', async () => {
    const key = await own.addKey('live', { rate: 1 });
    await fill(key, 'reading', 10);
    const limited = await own.call('/v1/models', { key });
    expect(refused(limited, '429 rate_limited').error.message).to.include('More than 10 reading calls within a second');
    expect(limited.headers.get('retry-after')).to.equal('1');
    scored(await own.score([lead], { key }));
    await service.redis.del(rateWindowKey(own.id, key.key._id, 'reading'));
    await fill(key, 'scoring', 1);
    refused(await own.score([lead], { key }), '429 rate_limited');
    read(await own.call('/v1/usage', { key }));
  });
});
