import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import type { Context } from 'koa';
import { BodyMemory } from '../../../api/request/body-memory.js';
import type { RateDecision, RateLimit } from '../../../api/request/rate-limit.js';
import { receiveCall } from '../../../api/request/receive-call.js';
import { machineClock } from '../../../shared/contract/dates.js';
import type { ApiKey } from '../../../shared/store/accounts/api-keys.js';

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
