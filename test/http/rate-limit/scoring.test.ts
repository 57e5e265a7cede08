import { expect } from 'chai';
import { rateWindowKey } from '../../../shared/redis/keys.js';
import { eventually } from '../../support/eventually.js';
import type { HttpReply } from '../../support/http/http-call.js';
import { refused, scored } from '../../support/http/score-reply.js';
import type { RunningService } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace } from '../../support/service/workspace.js';
import type { UsableKey } from '../../support/service/workspace-parts.js';

const rate = 10;
const secondUs = 1_000_000;
const lead = { company_size: 120 };

describe('rate limit of POST /v1/score over two gateways', () => {
  let service: RunningService;
  let own: TestWorkspace;
  let key: UsableKey;

  onOwnWorkspace(async (fresh, running) => {
    [own, service] = [fresh, running];
    key = await own.addKey('live', { rate });
  }, 'twoGateways');

  /** The slots of the last second by id, with their times on the clock of Redis in microseconds. */
  const slots = async (of = key): Promise<Map<string, number>> => {
    const window = rateWindowKey(own.id, of.key._id, 'scoring');
    const flat = await service.redis.zrange(window, 0, '-1', 'WITHSCORES');
    return new Map(flat.flatMap((id, index) => (index % 2 === 0 ? [[id, Number(flat[index + 1])]] : [])));
  };
  const burst = (calls: number, of = key) =>
    Promise.all(Array.from({ length: calls }, () => own.score([lead], { key: of })));
  const passed = (replies: readonly HttpReply[]) => replies.filter((reply) => reply.status === 200);

  it('accepts at most ten calls in every sliding second, and a new one within 2 s', async () => {
    const accepted = new Map<string, number>();
    let answered = 0;
    const callUntilEnough = async (gateway: number): Promise<void> => {
      while (answered < 3.5 * rate) {
        const reply = await own.score([lead], { key, gateway });
        if (reply.status === 200) answered += 1;
        else refused(reply, '429 rate_limited');
        // A slot stays in Redis for a second, much longer than one round of this loop.
        for (const [id, atUs] of await slots()) accepted.set(id, atUs);
      }
    };
    await Promise.all([0, 1, 0, 1].map(callUntilEnough));
    expect(accepted.size, 'slots taken').to.equal(answered);
    const times = [...accepted.values()].sort((a, b) => a - b);
    for (const [index, atUs] of times.entries()) {
      const tenLater = times[index + rate];
      if (tenLater === undefined) break;
      expect(tenLater - atUs, `us from call ${index} to call ${index + rate}`).to.be.above(secondUs);
      expect(tenLater - atUs, `us until the slot of call ${index} is taken again`).to.be.below(2 * secondUs);
    }
    expect(await own.ledgerRows(), 'calls recorded').to.have.length(accepted.size);
  });

  it('returns 429 with Retry-After and RateLimit headers without a remainder to the 11th call within a second', async () => {
    const replies = await burst(11 + rate);
    const refusals = replies.filter((reply) => reply.status !== 200);
    expect(refusals).to.not.deep.equal([]);
    for (const reply of refusals) {
      expect(refused(reply, '429 rate_limited').error.message).to.include(`${rate} calls`);
      expect(reply.headers.get('retry-after')).to.equal('1');
      expect(reply.headers.get('ratelimit-policy')).to.equal(`"key";q=${rate};w=1`);
      expect(reply.headers.get('ratelimit')).to.equal('"key";r=0;t=1');
    }
  });

  it('returns each remainder from nine to zero once to ten concurrent calls', async () => {
    const left = passed(await burst(rate)).map((reply) => reply.headers.get('ratelimit'));
    expect(left).to.have.members(Array.from({ length: rate }, (_, index) => `"key";r=${index};t=1`));
  });

  it('takes no slot for a call that returns 429', async () => {
    const replies = await burst(5 * rate);
    const taken = await slots();
    expect(taken.size).to.equal(passed(replies).length);
    expect(await own.ledgerRows(), 'calls recorded').to.have.length(taken.size);
  });

  it('takes a slot for a call that fails with 400, 404 or 422', async () => {
    const failing = [
      () => own.post('{', { key }),
      () => own.score([], { key }),
      () => own.score([lead], { key, modelId: 'mdl_unknown' }),
      () => own.score([{ company_size: {} }], { key }),
    ];
    const replies = await Promise.all(Array.from({ length: rate }, (_, call) => failing[call % 4]?.()));
    expect(replies.map((reply) => reply?.status)).to.have.members([422, 400, 404, 400, 422, 400, 404, 400, 422, 400]);
    expect((await slots()).size).to.equal(rate);
  });

  it('frees a slot one second after its call', async () => {
    await burst(rate);
    const first = Math.min(...(await slots()).values());
    const reply = await eventually(async () => {
      const again = await own.score([lead], { key });
      scored(again);
      return again;
    });
    expect(reply.headers.get('ratelimit-policy')).to.equal(`"key";q=${rate};w=1`);
    expect(Math.max(...(await slots()).values()) - first).to.be.above(secondUs);
  });

  it('limits each key of an organisation on its own', async () => {
    const other = await own.addKey('live', { rate });
    await burst(3 * rate);
    expect(passed(await burst(rate, other))).to.have.length(rate);
  });

  it('limits test keys', async () => {
    const test = await own.addKey('test', { rate: 2 });
    const replies = await burst(20, test);
    expect((await slots(test)).size).to.be.at.most(2);
    expect(replies.map((reply) => reply.status)).to.include(429);
  });
});
