import { setTimeout as wait } from 'node:timers/promises';
import { expect } from 'chai';
import type { RecordedCall } from '../../../shared/quota/ledger-view.js';
import { redisNowMs } from '../../../shared/redis/connect.js';
import { endedCallsKey, rebuildLockKey, type UsageCounter, usageKey } from '../../../shared/redis/keys.js';
import { freshDatabases } from '../../support/service/servers.js';
import { freshCounter, leaseMs, QuotaRig } from './rig/quota-rig.js';

const lockToken = 'a token';

describe('recountCounter', () => {
  let rig: QuotaRig;
  let counter: UsageCounter;

  before(async () => {
    rig = new QuotaRig((await freshDatabases()).redisUrl);
  });
  after(() => rig.close());
  beforeEach(async () => {
    rig.ledger.clear();
    rig.ledger.afterRead = async () => undefined;
    counter = freshCounter();
    await rig.quota.usage(counter);
  });

  const reserve = (callId: string, records: number) => rig.reserve(counter, callId, records);
  const release = (callId: string) => rig.quota.release(counter, callId);
  const usage = () => rig.quota.usage(counter);

  describe('scripts', () => {
    const settle = (callId: string) => rig.quota.commands.settle({ counter, callId, leaseMs });
    const begin = async (token = lockToken) => {
      await rig.redis.set(rebuildLockKey(counter), lockToken, 'NX');
      return rig.quota.commands.beginRecount({ counter, token, keepMs: 60_000 });
    };
    interface Count {
      readonly records: number;
      readonly entries?: number;
      readonly settledRecords?: number;
      readonly mayBeHeld?: readonly RecordedCall[];
    }
    const nothingEnded = { entries: 1, settledRecords: 0, mayBeHeld: [] };
    const finish = (count: Count, token = lockToken) =>
      rig.quota.commands.recount({ counter, token, ...nothingEnded, ...count });
    const ended = async () => (await rig.redis.lrange(endedCallsKey(counter), 0, '-1')).slice(1);
    const recountAt = () => rig.redis.hget(usageKey(counter), 'recount_at');

    it('1: sets used to the sum without the calls that have an open lease', async () => {
      await reserve('open', 50);
      await reserve('ended', 30);
      await settle('ended');
      const mayBeHeld = ['open', 'ended'].map((callId) => ({ callId, records: callId === 'open' ? 50 : 30 }));
      expect(await begin()).to.deep.equal({ code: 1, used: 30, leased: 50 });
      expect(await finish({ records: 90, mayBeHeld })).to.deep.equal({ code: 1, used: 40, leased: 50 });
      expect(await settle('open')).to.deep.equal({ code: 1, used: 90, leased: 0 });
      expect(await rig.redis.exists(rebuildLockKey(counter), endedCallsKey(counter))).to.equal(0);
    });

    it('1: corrects the sum by calls that ended since the list was read, in the sum or not', async () => {
      const inSum = { 'in, settled': 1, 'in, released': 2, 'in, held': 4 };
      const notInSum = { 'out, settled': 8, 'out, released': 16 };
      for (const [callId, records] of Object.entries({ ...inSum, ...notInSum })) await reserve(callId, records);
      await begin();
      for (const callId of ['in, settled', 'out, settled', 'in, settled']) await settle(callId);
      for (const callId of ['in, released', 'out, released', 'in, released']) await release(callId);
      const mayBeHeld = Object.entries(inSum).map(([callId, records]) => ({ callId, records }));
      expect(await finish({ records: 1 + 2 + 4, mayBeHeld })).to.deep.equal({
        code: 1,
        used: 1 + 8,
        leased: 4,
      });
    });

    it('1: does not correct the sum again by entries that were read', async () => {
      await begin();
      for (const callId of ['read', 'since']) {
        await reserve(callId, 3);
        await settle(callId);
      }
      expect(await ended()).to.deep.equal(['+3 read', '+3 since']);
      expect(await finish({ records: 100, entries: 2, settledRecords: 3 })).to.deep.equal({
        code: 1,
        used: 103,
        leased: 0,
      });
    });

    it('lists ended calls only during a recount, each once, and with a TTL', async () => {
      await reserve('before', 1);
      await settle('before');
      await begin();
      await reserve('since', 2);
      await settle('since');
      await settle('since');
      await release('since');
      expect(await settle('never held')).to.include({ code: -6 });
      expect(await ended()).to.deep.equal(['+2 since']);
      expect(await rig.redis.pttl(endedCallsKey(counter))).to.be.within(1, 60_000);
      await finish({ records: 3 });
      await reserve('after', 4);
      await settle('after');
      await reserve('released after', 5);
      await release('released after');
      expect(await rig.redis.exists(endedCallsKey(counter))).to.equal(0);
    });

    it('1: begins again with an empty list after another holder has died', async () => {
      await begin();
      await rig.redis.set(rebuildLockKey(counter), 'another token', 'PX', 60_000);
      await reserve('call', 3);
      await settle('call');
      expect(await begin('another token')).to.include({ code: 1 });
      expect(await ended()).to.deep.equal([]);
      expect(await finish({ records: 3 }, 'another token')).to.include({ code: 1, used: 3 });
    });

    it('1: clears recount_at when it is due, and keeps it when it is in the future', async () => {
      const nowMs = await redisNowMs(rig.redis);
      await rig.redis.hset(usageKey(counter), 'recount_at', nowMs);
      await begin();
      await finish({ records: 0 });
      expect(await recountAt()).to.equal(null);
      await rig.redis.hset(usageKey(counter), 'recount_at', nowMs + 10_000);
      await begin();
      await finish({ records: 0 });
      expect(await recountAt()).to.equal(String(nowMs + 10_000));
    });

    it('-2: does not create an unknown counter', async () => {
      await rig.redis.del(usageKey(counter));
      expect(await begin()).to.deep.equal({ code: -2, used: 0, leased: 0 });
      expect(await finish({ records: 5 })).to.deep.equal({ code: -2, used: 0, leased: 0 });
      expect(await rig.redis.exists(usageKey(counter), endedCallsKey(counter))).to.equal(0);
    });

    it('-8: neither begins nor sets anything for a holder that has lost the lock', async () => {
      await begin();
      await reserve('call', 30);
      await settle('call');
      const lost = { code: -8, used: 30, leased: 0 };
      expect(await begin('another token')).to.deep.equal(lost);
      expect(await ended()).to.deep.equal(['+30 call']);
      expect(await finish({ records: 5 }, 'another token')).to.deep.equal(lost);
    });

    it('-9: sets nothing when the list is missing, incomplete or from another run of Redis', async () => {
      const unknown = { code: -9, used: 0, leased: 0 };
      await begin();
      await rig.redis.lset(endedCallsKey(counter), 0, `${lockToken} another-run 0`);
      expect(await finish({ records: 5 })).to.deep.equal(unknown);
      await begin();
      await rig.redis.del(endedCallsKey(counter));
      expect(await finish({ records: 5 })).to.deep.equal(unknown);
      await begin();
      await rig.redis.hincrby(usageKey(counter), 'used', 7); // as a gateway of a release that writes no list
      expect(await finish({ records: 5 })).to.deep.equal({ ...unknown, used: 7 });
    });
  });

  it('counts calls that end while the ledger or the leases are read, or after that', async () => {
    const recorded = { settled: 1, voided: 2, 'settled last': 4, open: 8 };
    const others = { 'settled first': 16, 'then one': 32, 'and one more': 64, released: 128 };
    for (const [callId, records] of Object.entries({ ...recorded, ...others })) await reserve(callId, records);
    for (const [callId, records] of Object.entries(recorded)) rig.ledger.record(counter, callId, records);
    await rig.quota.settle(counter, 'settled');
    let reads = 0;
    rig.ledger.afterRead = async () => {
      reads += 1;
      await rig.finish(counter, 'settled first', others['settled first']);
      rig.ledger.voidCall('voided');
      for (const callId of ['voided', 'released']) await release(callId);
    };
    const restore = [
      afterCommand('zrange', () => rig.finish(counter, 'then one', others['then one'])),
      afterCommand('lrange', async () => {
        await rig.finish(counter, 'and one more', others['and one more']);
        await rig.quota.settle(counter, 'settled last');
      }),
    ];
    try {
      expect(await rig.quota.recount(counter)).to.equal(true);
    } finally {
      for (const each of restore) each();
    }
    expect(reads).to.equal(1);
    expect(await usage()).to.deep.equal({ used: 1 + 4 + 16 + 32 + 64, leased: 8 });
    expect(await rig.quota.settle(counter, 'open')).to.include({ used: rig.ledger.sum(counter) });
  });

  it('sets the right sum while calls begin and end all the time', async () => {
    let calls = 0;
    let isOver = false;
    const caller = async (): Promise<void> => {
      while (!isOver) {
        calls += 1;
        const callId = `call ${calls}`;
        const records = 1 + (calls % 5);
        await rig.reserve(counter, callId, records, 1_000_000);
        if (records === 3) await release(callId);
        else await rig.finish(counter, callId, records);
      }
    };
    const callers = Array.from({ length: 8 }, caller);
    rig.ledger.afterRead = () => wait(20);
    try {
      for (let recount = 0; recount < 10; recount += 1) {
        await rig.redis.hincrby(usageKey(counter), 'used', 500); // the recount corrects this
        expect(await rig.quota.recount(counter)).to.equal(true);
      }
    } finally {
      isOver = true;
      await Promise.all(callers);
    }
    expect(calls).to.be.above(100);
    expect(await usage()).to.deep.equal({ used: rig.ledger.sum(counter), leased: 0 });
  });

  it('begins again when the list of ended calls was lost, and gives up after three attempts', async () => {
    await reserve('call', 1);
    await rig.finish(counter, 'call', 1);
    let reads = 0;
    let losses = 1;
    rig.ledger.afterRead = async () => {
      reads += 1;
      if (reads <= losses) await rig.redis.del(endedCallsKey(counter));
    };
    expect(await rig.quota.recount(counter)).to.equal(true);
    expect(reads).to.equal(2);
    losses = Number.POSITIVE_INFINITY;
    expect(await rig.quota.recount(counter)).to.equal(false);
    expect(await usage()).to.deep.equal({ used: 1, leased: 0 });
  });

  /** Runs `work` after each reply to a command, before the caller gets it. @returns a function that ends this */
  function afterCommand(name: 'zrange' | 'lrange', work: () => Promise<unknown>): () => void {
    const send = rig.redis[name].bind(rig.redis) as (...args: readonly unknown[]) => Promise<unknown>;
    const sendAndWork = async (...args: readonly unknown[]) => {
      const reply = await send(...args);
      await work();
      return reply;
    };
    Object.assign(rig.redis, { [name]: sendAndWork });
    return () => Reflect.deleteProperty(rig.redis, name);
  }
});
