import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import Koa from 'koa';
import { BodyMemory } from '../../../api/request/body-memory.js';
import type { RateDecision } from '../../../api/request/rate-limit.js';
import { receiveCall } from '../../../api/request/receive-call.js';
import { machineClock } from '../../../shared/contract/dates.js';
import { keyOf } from '../../support/scoring/scoring-call.js';

const limits = { maxBodyBytes: 1_000, bodyTimeoutMs: 60_000 };
const redisNowMs = 1_000_000;
const decision: RateDecision = {
  accepted: true,
  ...{ remaining: 9, retryAfterMs: 0, resetMs: 0, acceptedAtRedisUs: 1, redisNowMs },
};

describe('receiveCall', () => {
  /** A request with a body, as a server receives it. */
  async function sent(): Promise<Koa.Context> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    request({ host: '127.0.0.1', port, method: 'POST' })
      .on('error', () => undefined)
      .end('{}');
    const [incoming, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse];
    incoming.once('close', () => server.close());
    // As the router notes it.
    return Object.assign(new Koa().createContext(incoming, response), { _matchedRoute: '/v1/score' });
  }

  it('does not extend the deadline in Redis time when Redis answers late', async () => {
    const context = await sent();
    const beforeMs = performance.now();
    let takenMs = 0;
    const rateLimit = {
      take: async () => {
        takenMs = performance.now();
        await pause(100);
        return decision;
      },
    };
    const deps = {
      ...{ rateLimit, limits, clock: machineClock(0), newCallId: () => 'call' },
      bodies: new BodyMemory(limits),
    };
    const options = { authenticate: async () => keyOf('org'), timeoutMs: 60_000, route: 'route' };
    const { deadline } = await receiveCall(context, deps, options);
    const leftByRedisMs = deadline.redisMs - redisNowMs;
    expect(leftByRedisMs).to.be.within(deadline.monotonicMs - takenMs, deadline.monotonicMs - beforeMs);
    const arrivedMs = deadline.arrivedRedisMs - redisNowMs;
    expect(arrivedMs, 'not later than the body had arrived').to.be.at.most(performance.now() - beforeMs);
    expect(arrivedMs, 'not before the call arrived').to.be.at.least(beforeMs - takenMs);
    context.req.destroy();
  });
});
