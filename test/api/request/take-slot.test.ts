import { expect } from 'chai';
import type { Context } from 'koa';
import { type RateDecision, RateLimit } from '../../../api/request/rate-limit.js';
import { takeSlot } from '../../../api/request/receive-call.js';
import { ApiError } from '../../../shared/contract/errors.js';
import type { Redis } from '../../../shared/redis/connect.js';
import type { ApiKey } from '../../../shared/store/accounts/api-keys.js';

describe('takeSlot', () => {
  const headers = new Map<string, string>();
  const context = { set: (name: string, value: string) => headers.set(name, value) } as unknown as Context;
  const apiKey = { _id: 'key', organisation_id: 'org', rate_per_second: 10 } as ApiKey;
  const slot = { apiKey, slotId: 'slot', window: 'scoring', timeoutMs: 60 } as const;
  const limit = (take: () => Promise<Partial<RateDecision>>) => ({ take }) as unknown as RateLimit;

  it('sets the RateLimit headers', async () => {
    await takeSlot(
      context,
      limit(async () => ({ accepted: true, remaining: 9, resetMs: 900 })),
      slot,
    );
    expect(Object.fromEntries(headers)).to.deep.equal({
      'RateLimit-Policy': '"key";q=10;w=1',
      RateLimit: '"key";r=9;t=1',
    });
  });

  it("waits no longer than the call's remaining time", async function () {
    const ownLimitMs = 10 * this.timeout();
    const unanswering = { sendCommand: () => new Promise(() => undefined) } as unknown as Redis;
    const refusal = takeSlot(context, new RateLimit(unanswering, ownLimitMs), slot);
    const error: unknown = await refusal.catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(ApiError);
    expect(error).to.include({ errorName: 'internalError' });
  });
});
