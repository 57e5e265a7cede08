import { expect } from 'chai';
import type { Context } from 'koa';
import type { Metering } from '../../../api/metering/metering.js';
import type { ReadingDeps } from '../../../api/routes/reading.js';
import { usageRoute } from '../../../api/routes/usage.js';

const lastMs = Date.UTC(2026, 11, 1) - 1;

describe('GET /v1/usage', () => {
  it('says when the month that it counted ends, also where the next one begins meanwhile', async () => {
    let nowMs = lastMs;
    const deps = {
      keys: { authenticate: async () => ({ _id: 'key', organisation_id: 'org', rate_per_second: 10 }) },
      workspaces: { workspace: async () => ({ organisation: { _id: 'org' }, models: [] }) },
      rateLimit: { take: async () => ({ accepted: true, remaining: 99, resetMs: 1_000 }) },
      clock: { now: () => nowMs },
      newCallId: () => 'call',
      timeoutMs: 1_000,
    } as unknown as ReadingDeps;
    const usage = async () => {
      nowMs = lastMs + 1;
      return { current: 7, month: '2026-11' };
    };
    const context = { set: () => undefined } as unknown as Context;
    await usageRoute(deps, { usage } as unknown as Metering)(context, async () => undefined);
    expect(JSON.parse(String(context.body))).to.deep.equal({
      current: 7,
      month: '2026-11',
      resets_at: '2026-12-01T00:00:00.000Z',
    });
  });
});
