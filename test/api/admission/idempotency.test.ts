import { expect } from 'chai';
import { Redis } from 'ioredis';
import { IdempotencyConflict, IdempotencyKeys, type Reply } from '../../../api/admission/idempotency.js';
import type { ScoringCall } from '../../../api/call/scoring-call.js';
import type { IdempotentReply } from '../../../shared/store/calls/idempotency.js';
import { eventually } from '../../support/eventually.js';
import { deadlineIn, scoringCall } from '../../support/scoring/scoring-call.js';
import { freshDatabases } from '../../support/service/servers.js';

const leftMs = 5_000;
const graceMs = 1_000;
const callOf = (id: string, body = 'the body', ms = leftMs) =>
  scoringCall({
    id,
    idempotency: { key: 'the key', name: 'Idempotency-Key', bodyHash: body },
    deadline: deadlineIn(ms),
  });

describe('a call under an Idempotency-Key', () => {
  let redis: Redis;
  let kept: IdempotentReply | undefined;
  /** Count of reads of the stored reply, and their shortest timeout in ms. */
  let lookUps: number;
  let minLookUpMs: number;
  /** Called after each read. */
  let whenLookedUp: () => void;
  /** Whether the stored reply still exists when it is marked as replayed. */
  let stays: boolean;
  /** Replies that replace the recorded one. */
  let amended: string[];
  let idempotencyKeys: IdempotencyKeys;

  beforeEach(async () => {
    redis = new Redis((await freshDatabases()).redisUrl, { replyMapping: 'legacy' });
    kept = undefined;
    lookUps = 0;
    minLookUpMs = Number.POSITIVE_INFINITY;
    whenLookedUp = () => undefined;
    stays = true;
    amended = [];
    const store = {
      find: async (_id: string, _nowMs: number, timeoutMs: number) => {
        lookUps += 1;
        minLookUpMs = Math.min(minLookUpMs, timeoutMs);
        const found = kept;
        whenLookedUp();
        return found;
      },
      markReplayed: async () => stays,
      amend: async (_id: string, body: string) => {
        amended.push(body);
        throw new Error('the database is away');
      },
    };
    idempotencyKeys = new IdempotencyKeys({ redis, store, clock: { now: Date.now } });
  });
  afterEach(() => redis.disconnect());

  const keep = (reply: string, body_hash = 'the body') => {
    kept = { _id: 'org:live:the key', body_hash, call_id: 'another', reply, expires_at: new Date() };
  };
  const claim = async () => {
    const [key = ''] = await redis.keys('*claim*');
    return { key, holder: await redis.get(key), ms: await redis.pttl(key) };
  };
  const fresh: Reply = { body: 'scored', isReplay: false };

  it('holds a claim while it runs, for one second past its deadline, and releases it afterwards', async () => {
    const call = callOf('one');
    let firstHolder: string | null = null;
    const reply = await idempotencyKeys.once(call, async () => {
      const { holder, ms } = await claim();
      expect(holder).to.be.a('string');
      firstHolder = holder;
      // 10 ms for rounding and for the difference between the clocks of Redis and of this process.
      expect(ms).to.be.at.least(call.deadline.monotonicMs + graceMs - performance.now() - 10);
      expect(ms).to.be.at.most(leftMs + graceMs);
      return fresh;
    });
    expect(reply).to.equal(fresh);
    const next = await idempotencyKeys.once(callOf('two'), async () => {
      expect((await claim()).holder)
        .to.be.a('string')
        .and.not.equal(firstHolder);
      return fresh;
    });
    expect(next).to.equal(fresh);
  });

  it('waits for a running call with the same key, and gets its reply', async () => {
    let end = (): void => undefined;
    const running = new Promise<void>((resolve) => {
      end = resolve;
    });
    const first = idempotencyKeys.once(callOf('one'), async () => {
      await running;
      keep('scored');
      return fresh;
    });
    const second = idempotencyKeys.once(callOf('two'), () => expect.fail('it was scored again'));
    // Both read before they claim. The first reads again with its claim, the second after its wait.
    await eventually(() => expect(lookUps).to.be.at.least(4));
    end();
    expect(await first).to.equal(fresh);
    expect(await second).to.deep.equal({ body: 'scored', isReplay: true });
  });

  it('gets the reply of a call that ended between its read and its claim', async () => {
    whenLookedUp = () => keep('scored');
    const reply = await idempotencyKeys.once(callOf('one'), () => expect.fail('it was scored again'));
    expect(reply).to.deep.equal({ body: 'scored', isReplay: true });
    expect(lookUps).to.equal(2);
  });

  it('is replayed at the first read, unless the stored reply was removed meanwhile', async () => {
    keep('scored');
    const none = () => expect.fail('it was scored again');
    expect(await idempotencyKeys.once(callOf('one'), none)).to.deep.equal({ body: 'scored', isReplay: true });
    expect(lookUps).to.equal(1);
    stays = false;
    expect(await idempotencyKeys.once(callOf('two'), async () => fresh)).to.equal(fresh);
  });

  it("does not wait for a test key's call when it has a live key", async () => {
    const ofTestKey: ScoringCall = { ...callOf('two'), bucket: 'test' };
    const both = idempotencyKeys.once(callOf('one'), () => idempotencyKeys.once(ofTestKey, async () => fresh));
    expect(await both).to.equal(fresh);
  });

  it('is answered although the sent reply cannot replace the stored one', async () => {
    const call = callOf('one');
    const sent = { body: 'usage has moved on', isReplay: false };
    expect(await idempotencyKeys.updateStoredReply(call, 'recorded', sent.body)).to.deep.equal(sent);
    expect(amended).to.deep.equal([sent.body]);
    await idempotencyKeys.updateStoredReply(call, sent.body, sent.body);
    expect(amended, 'an unchanged reply is not written').to.have.length(1);
  });

  it('fails with Retry-After when the running call outlasts it, and leaves MongoDB time for each read', async () => {
    let end = (): void => undefined;
    const running = new Promise<void>((resolve) => {
      end = resolve;
    });
    const first = idempotencyKeys.once(callOf('one'), async () => {
      await running;
      return fresh;
    });
    await eventually(async () => expect((await claim()).holder).to.be.a('string'));
    const shortest: number[] = [];
    for (const body of ['the body', 'another body', 'a third']) {
      minLookUpMs = Number.POSITIVE_INFINITY;
      const second = idempotencyKeys.once(callOf('two', body, 400), async () => fresh);
      const error = await second.catch((thrown: unknown) => thrown);
      expect(error).to.have.property('message', 'Another call with this Idempotency-Key is still running.');
      expect(error).to.have.nested.property('options.retryAfterSeconds', 1);
      shortest.push(minLookUpMs);
    }
    // The longest of three, because a stalled process leaves a single call no time.
    expect(Math.max(...shortest)).to.be.above(1);
    end();
    await first;
  });

  it('leaves the claim of a later call alone after its own was lost', async () => {
    await idempotencyKeys.once(callOf('one'), async () => {
      await redis.set((await claim()).key, 'two', 'PX', 60_000);
      return fresh;
    });
    await redis.ping(); // Redis has run the earlier commands
    expect((await claim()).holder).to.equal('two');
  });

  it('gets the reply that another call recorded meanwhile, or a refusal when the bodies differ', async () => {
    const elsewhere = async (): Promise<Reply> => {
      keep('of another');
      throw new IdempotencyConflict('the key was used meanwhile');
    };
    expect(await idempotencyKeys.once(callOf('one'), elsewhere)).to.deep.equal({
      body: 'of another',
      isReplay: true,
    });
    kept = undefined;
    const other = await idempotencyKeys.once(callOf('two', 'another body'), elsewhere).catch((error: unknown) => error);
    expect(other).to.be.instanceOf(Error).with.property('message').that.includes('another body');
  });
});
