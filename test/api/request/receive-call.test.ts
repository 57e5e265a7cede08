import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import type { Context } from 'koa';
import { BodyMemory } from '../../../api/request/body-memory.js';
import type { RateDecision, RateLimit } from '../../../api/request/rate-limit.js';
import { queryParameter, receiveCall } from '../../../api/request/receive-call.js';
import { machineClock } from '../../../shared/contract/dates.js';
import { ApiError } from '../../../shared/contract/errors.js';
import type { ApiKey } from '../../../shared/store/accounts/api-keys.js';
import { threadCpuMsOf } from '../../support/thread-cpu.js';

const limits = { maxBodyBytes: 1_000, bodyTimeoutMs: 60_000 };
const redisNowMs = 1_000_000;
const decision: RateDecision = {
  accepted: true,
  ...{ remaining: 9, retryAfterMs: 0, resetMs: 0, acceptedAtRedisUs: 1, redisNowMs },
};
const apiKey = { _id: 'key', organisation_id: 'org', rate_per_second: 10 } as ApiKey;

describe('receiveCall', () => {
  /** A request with a body, as a server receives it. */
  async function sent(): Promise<IncomingMessage> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    request({ host: '127.0.0.1', port, method: 'POST' })
      .on('error', () => undefined)
      .end('{}');
    const [incoming] = (await once(server, 'request')) as [IncomingMessage];
    incoming.once('close', () => server.close());
    return incoming;
  }

  it('does not extend the deadline in Redis time when Redis answers late', async () => {
    const req = await sent();
    const beforeMs = performance.now();
    let takenMs = 0;
    const rateLimit = {
      take: async () => {
        takenMs = performance.now();
        await pause(100);
        return decision;
      },
    } as unknown as RateLimit;
    const context = { req, state: {}, get: () => '', set: () => undefined } as unknown as Context;
    const deps = {
      ...{ rateLimit, limits, clock: machineClock(0), newCallId: () => 'call' },
      bodies: new BodyMemory(limits),
    };
    const options = { authenticate: async () => apiKey, timeoutMs: 60_000, route: 'route' };
    const { deadline } = await receiveCall(context, deps, options);
    const leftByRedisMs = deadline.redisMs - redisNowMs;
    expect(leftByRedisMs).to.be.within(deadline.monotonicMs - takenMs, deadline.monotonicMs - beforeMs);
    const arrivedMs = deadline.arrivedRedisMs - redisNowMs;
    expect(arrivedMs, 'not later than the body had arrived').to.be.at.most(performance.now() - beforeMs);
    expect(arrivedMs, 'not before the call arrived').to.be.at.least(beforeMs - takenMs);
    req.destroy();
  });
});

describe('queryParameter', () => {
  const read = (querystring: string, name = 'model_id') => queryParameter({ querystring } as unknown as Context, name);

  it('returns a decoded parameter, and undefined for one that is absent', () => {
    expect(read('limit=2&model_id=a%20b+c')).to.equal('a b c');
    expect(read('limit=2')).to.equal(undefined);
  });

  it('refuses a repeated parameter', () => {
    expect(() => read('model_id=a&model_id=b')).to.throw(ApiError, 'model_id must come once in the address');
    expect(read('limit=1&limit=2&model_id=a')).to.equal('a');
  });

  it('takes less than 50 ms of CPU time for a query of 15,000 characters', () => {
    for (const query of ['a&'.repeat(7_500), Array.from({ length: 4_000 }, (_, index) => index).join('&')]) {
      const tookMs = [1, 2, 3].map(() => threadCpuMsOf(() => expect(read(`${query}&model_id=m`)).to.equal('m')));
      expect(Math.min(...tookMs), 'ms of CPU time').to.be.below(50);
    }
  });
});
