import { expect } from 'chai';
import { CallVoids, type CallVoidsDeps, maxVoidsAtOnce } from '../../../shared/quota/voids.js';
import { activeCountersKey, callsToVoidKey } from '../../../shared/redis/keys.js';
import { failureOf } from '../../support/failure-of.js';
import { freshDatabases } from '../../support/service/servers.js';
import { freshCounter, leaseMs, QuotaRig } from './rig/quota-rig.js';

describe('CallVoids', () => {
  let rig: QuotaRig;
  let forgotten: string[];

  before(async () => {
    rig = new QuotaRig((await freshDatabases()).redisUrl);
  });
  after(() => rig.close());
  beforeEach(async () => {
    await rig.redis.flushdb();
    rig.ledger.clear();
    forgotten = [];
  });

  const voidsWith = (deps: Partial<CallVoidsDeps> = {}) =>
    new CallVoids({
      redis: rig.redis,
      quota: rig.quota,
      latest: { forget: async (organisationId: string) => void forgotten.push(organisationId) },
      voidInLedger: async ({ callId }) => {
        rig.ledger.voidCall(callId);
        return true;
      },
      ...deps,
    });
  const callOf = (callId: string, counter = freshCounter()) => ({ counter, callId });
  const toVoid = () => rig.redis.hgetall(callsToVoidKey);

  it('sweep voids and releases a call to void whose gateway has ended, before its lease ends', async () => {
    const call = callOf('call');
    await rig.reserve(call.counter, 'call', 10);
    rig.ledger.record(call.counter, 'call', 10);
    await voidsWith().add(call);
    expect(await voidsWith().sweep()).to.equal(1);
    expect(await rig.quota.usage(call.counter)).to.deep.equal({ used: 0, leased: 0 });
    expect(rig.ledger.sum(call.counter)).to.equal(0);
    expect(forgotten).to.deep.equal([call.counter.organisationId]);
    expect(await toVoid()).to.deep.equal({});
    expect(await voidsWith().sweep()).to.equal(0);
  });

  it('keep the leases of calls to void from being settled until they are void', async () => {
    const counter = freshCounter();
    for (const callId of ['noted', 'recorded']) {
      await rig.reserve(counter, callId, 10);
      rig.ledger.record(counter, callId, 10);
    }
    await voidsWith().add(callOf('noted', counter));
    await rig.age(counter, leaseMs);
    expect(await rig.sweep()).to.include({ settled: 1, failed: 0 });
    expect(await rig.quota.usage(counter)).to.deep.equal({ used: 10, leased: 10 });
    await voidsWith().sweep();
    expect(await rig.quota.usage(counter)).to.deep.equal({ used: 10, leased: 0 });
  });

  it('sweep corrects the usage of a call that was settled before, also of an idle counter', async () => {
    const call = callOf('call');
    await rig.reserve(call.counter, 'call', 10);
    await rig.finish(call.counter, 'call', 10);
    await rig.redis.del(activeCountersKey);
    await voidsWith().add(call);
    await voidsWith().sweep();
    await rig.age(call.counter, leaseMs);
    await rig.sweep();
    expect(await rig.quota.usage(call.counter)).to.deep.equal({ used: 0, leased: 0 });
  });

  it('settles a call that has to stay counted, and one whose lease is gone without an error', async () => {
    const voids = voidsWith({ voidInLedger: async () => false });
    const call = callOf('call');
    await rig.reserve(call.counter, 'call', 10);
    rig.ledger.record(call.counter, 'call', 10);
    await voids.add(call);
    await voids.void(call);
    expect(await rig.quota.usage(call.counter)).to.deep.equal({ used: 10, leased: 0 });
    await voids.void(callOf('gone', call.counter));
    expect(await toVoid()).to.deep.equal({});
  });

  it('sweep keeps the note of a call that could not be voided, and voids the others', async () => {
    const voids = voidsWith({
      voidInLedger: async ({ callId }) => {
        if (callId === 'bad') throw new Error('an open transaction is in the way');
        return true;
      },
    });
    for (const callId of ['a', 'bad', 'c', 'd']) await voids.add(callOf(callId));
    expect(await failureOf(voids.sweep())).to.have.property('message', 'an open transaction is in the way');
    expect(Object.keys(await toVoid())).to.deep.equal(['bad']);
  });

  it('sweep voids the others also when more calls fail than it voids at once', async () => {
    const bad = Array.from({ length: 2 * maxVoidsAtOnce }, (_, index) => `bad ${index}`);
    const voids = voidsWith({
      voidInLedger: async ({ callId }) => {
        if (bad.includes(callId)) throw new Error('the node does not answer');
        return true;
      },
    });
    for (const callId of [...bad, 'good']) await voids.add(callOf(callId));
    expect(await failureOf(voids.sweep())).to.have.property('message', 'the node does not answer');
    expect(Object.keys(await toVoid()).sort()).to.deep.equal(bad.sort());
  });
});
