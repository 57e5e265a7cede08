import { expect } from 'chai';
import type { HttpPost, HttpReply } from '../../../../scripts/cli/score/calls/http-connections.js';
import { CallPace, CallRefused, delayMs, ScoreClient } from '../../../../scripts/cli/score/calls/score-client.js';
import { sendInOrder } from '../../../../scripts/cli/score/calls/send-in-order.js';

const scored: HttpReply = { status: 200, headers: {}, body: '{"scores":[{"score":5}]}' };
const refused = (status: number, code: string): HttpReply => ({
  status,
  headers: {},
  body: JSON.stringify({ error: { code, message: 'no', docs_url: 'd' } }),
});

describe('score client', () => {
  const clientOf = (answers: readonly (HttpReply | Error)[]) => {
    const waits: number[] = [];
    let sent = 0;
    const post: HttpPost = async () => {
      const answer = answers[Math.min(sent, answers.length - 1)];
      sent += 1;
      if (answer instanceof Error || answer === undefined) throw answer;
      return answer;
    };
    const wait = async (durationMs: number) => {
      waits.push(durationMs);
    };
    const client = new ScoreClient({ baseUrl: 'http://x', apiKey: 'k', post, wait });
    const score = () => client.score({ body: '', records: 1, idempotencyKey: 'i' }).catch((error: unknown) => error);
    return { score, waits, sent: () => sent };
  };

  it('throws CallRefused after eight internal_error replies with exponential backoff', async () => {
    const { score, waits, sent } = clientOf([refused(500, 'internal_error')]);
    const error = await score();
    expect(error).to.be.instanceOf(CallRefused).with.nested.property('failure.code', 'internal_error');
    expect(sent()).to.equal(8);
    for (const [index, durationMs] of waits.entries()) {
      const maxMs = Math.min(15_000, 500 * 2 ** index);
      expect(durationMs).to.be.within(maxMs / 2, maxMs);
    }
  });

  it('retries after a 503 of a proxy, and after a lost connection once the service has answered', async () => {
    const busy: HttpReply = { status: 503, headers: {}, body: '<html>busy</html>' };
    const { score, sent } = clientOf([busy, new Error('reset'), scored]);
    expect(await score()).to.deep.equal({ scores: [{ score: 5 }] });
    expect(sent()).to.equal(3);
  });

  it('does not retry a service that never answered, a 402, an exhausted quota or an incomplete reply', async () => {
    for (const answer of [
      new Error('refused'),
      refused(402, 'expired_read_only'),
      refused(429, 'quota_exceeded'),
      { ...scored, body: '{"scores":[]}' },
    ]) {
      const { score, sent } = clientOf([answer]);
      expect(await score()).to.be.instanceOf(CallRefused);
      expect(sent()).to.equal(1);
    }
  });

  it('waits at least as long as Retry-After', () => {
    expect(delayMs(1, 7, 0)).to.equal(7_000);
    expect(delayMs(1, undefined, 0)).to.equal(250);
    expect(delayMs(20, undefined, 1)).to.equal(15_000);
  });
});

describe('call pace', () => {
  it("starts at most the key's number of calls per window", async () => {
    let nowMs = 0;
    const pace = new CallPace(() => nowMs);
    expect(pace.waitMs(), 'no limit before the first header').to.be.at.most(0);
    pace.readPolicy('"key";q=3;w=1');
    for (const atMs of [0, 10, 20]) {
      nowMs = atMs;
      await pace.acquire();
    }
    expect(pace.waitMs()).to.be.within(980, 1_100);
    nowMs += pace.waitMs();
    expect(pace.waitMs()).to.be.at.most(0);
    await pace.acquire();
    expect(pace.waitMs(), 'blocked by the second call').to.be.within(1, 20);
  });

  it('blocks all calls for the longest given hold', () => {
    let nowMs = 0;
    const pace = new CallPace(() => nowMs);
    pace.holdFor(2_000);
    pace.holdFor(500);
    expect(pace.waitMs()).to.equal(2_000);
    nowMs = 2_000;
    expect(pace.waitMs()).to.be.at.most(0);
  });

  it('ignores headers without a valid rate', () => {
    const pace = new CallPace(() => 0);
    for (const header of [undefined, '', 'q=10', '"key";q=0;w=1', ['"key";q=1;w=1']]) pace.readPolicy(header);
    expect(pace.waitMs()).to.be.at.most(0);
  });
});

describe('send in order', () => {
  async function* items(count: number, failAt = Number.POSITIVE_INFINITY): AsyncGenerator<number> {
    for (let item = 0; item < count; item += 1) {
      if (item === failAt) throw new Error(`item ${item} cannot be read`);
      yield item;
    }
  }
  const run = async (given: {
    readonly source: AsyncIterable<number>;
    readonly send?: (item: number) => Promise<number>;
    readonly signal?: AbortSignal;
  }) => {
    const kept: number[] = [];
    let inFlight = 0;
    let maxInFlight = 0;
    const send = given.send ?? ((item: number) => new Promise<number>((resolve) => setImmediate(resolve, item)));
    const outcome = await sendInOrder(given.source, {
      concurrency: () => 3,
      signal: given.signal ?? new AbortController().signal,
      send: async (item) => {
        inFlight += 1;
        maxInFlight = Math.max(maxInFlight, inFlight);
        try {
          return await send(item);
        } finally {
          inFlight -= 1;
        }
      },
      keep: async (result) => {
        kept.push(result);
      },
    }).catch((error: Error) => error.message);
    expect(inFlight, 'calls in flight at the end').to.equal(0);
    return { outcome, kept, maxInFlight };
  };

  it('keeps results in the order of the items with three in flight', async () => {
    const { outcome, kept, maxInFlight } = await run({ source: items(20) });
    expect({ outcome, maxInFlight }).to.deep.equal({ outcome: true, maxInFlight: 3 });
    expect(kept).to.deep.equal(Array.from({ length: 20 }, (_, item) => item));
  });

  it('keeps the results before a failed item and none after it', async () => {
    const send = async (item: number): Promise<number> => {
      if (item === 4) throw new Error('refused');
      return item;
    };
    const { outcome, kept } = await run({ source: items(20), send });
    expect({ outcome, kept }).to.deep.equal({ outcome: 'refused', kept: [0, 1, 2, 3] });
  });

  it('keeps all results before an item that cannot be read', async () => {
    const { outcome, kept } = await run({ source: items(20, 5) });
    expect({ outcome, kept }).to.deep.equal({ outcome: 'item 5 cannot be read', kept: [0, 1, 2, 3, 4] });
  });

  it('returns false and keeps the sent items when aborted before the end', async () => {
    const stop = new AbortController();
    const send = async (item: number): Promise<number> => {
      if (item === 2) stop.abort();
      return item;
    };
    const { outcome, kept } = await run({ source: items(20), send, signal: stop.signal });
    expect({ outcome, kept }).to.deep.equal({ outcome: false, kept: [0, 1, 2] });
  });
});
