import { expect } from 'chai';
import { Command, Redis } from 'ioredis';
import { QuotaLeaseLost } from '../../../../shared/quota/commands.js';
import type { UsageCounter } from '../../../../shared/redis/keys.js';
import { freshDatabases } from '../../../support/service/servers.js';
import { freshCounter, leaseMs, QuotaRig } from '../rig/quota-rig.js';

/** A connection that empties Redis once, before or after one of its commands. */
class FlushingRedis extends Redis {
  sent = 0;
  flushed = false;
  flushAt = Number.POSITIVE_INFINITY;
  when: 'before' | 'after' = 'before';
  private isCounting = false;

  start(flushAt: number, when: 'before' | 'after'): void {
    Object.assign(this, { sent: 0, flushed: false, flushAt, when });
    this.isCounting = true;
  }

  resume(): void {
    this.isCounting = true;
  }

  stop(): void {
    this.isCounting = false;
  }

  override sendCommand(...parameters: Parameters<Redis['sendCommand']>): unknown {
    if (!this.isCounting) return super.sendCommand(...parameters);
    this.sent += 1;
    const isDue = this.sent === this.flushAt;
    if (isDue && this.when === 'before') this.flush();
    const reply = super.sendCommand(...parameters);
    if (isDue && this.when === 'after') this.flush();
    return reply;
  }

  private flush(): void {
    this.flushed = true;
    super.sendCommand(new Command('flushdb', []));
  }
}

/** More commands than any story sends. The enumeration ends with the first run that was not interrupted. */
const maxCommands = 60;

describe('Quota when Redis is emptied', () => {
  let redis: FlushingRedis;
  let rig: QuotaRig;

  before(async () => {
    const { redisUrl } = await freshDatabases();
    redis = new FlushingRedis(redisUrl);
    rig = new QuotaRig(redisUrl, { redis });
  });
  after(() => rig.close());

  /** Runs a story once for each of its commands, with Redis emptied just before or just after that command. */
  async function atEveryPoint(story: (counter: UsageCounter) => Promise<void>): Promise<number> {
    for (const when of ['before', 'after'] as const) {
      for (let point = 1; ; point += 1) {
        expect(point).to.be.below(maxCommands);
        await redis.flushdb();
        rig.ledger.clear();
        const counter = freshCounter();
        rig.ledger.record(counter, `earlier call ${counter.organisationId}`, 100);
        redis.start(point, when);
        try {
          await story(counter);
          redis.stop();
          await rig.settleDown(counter);
          const moment = `emptied ${when} command ${point}`;
          expect(await rig.quota.usage(counter), moment).to.deep.equal({
            used: rig.ledger.sum(counter),
            leased: 0,
          });
        } finally {
          redis.stop();
        }
        if (!redis.flushed) {
          if (when === 'after') return point - 1;
          break;
        }
      }
    }
    return 0;
  }

  it('counts an answered call once and a refused one never, at every point of a call', async () => {
    const points = await atEveryPoint(async (counter) => {
      await rig.reserve(counter, 'call', 10);
      const outcome = await rig.finish(counter, 'call', 10);
      expect(rig.ledger.sum(counter)).to.equal(outcome === 'answered' ? 110 : 100);
    });
    expect(points).to.be.at.least(9);
  });

  it('counts both calls at every point, with another call in flight', async () => {
    await atEveryPoint(async (counter) => {
      await rig.reserve(counter, 'in flight', 20);
      await rig.reserve(counter, 'call', 10);
      const outcomes = [await rig.finish(counter, 'call', 10), await rig.finish(counter, 'in flight', 20)];
      const sum = 100 + (outcomes[0] === 'answered' ? 10 : 0) + (outcomes[1] === 'answered' ? 20 : 0);
      expect(rig.ledger.sum(counter)).to.equal(sum);
    });
  });

  it('counts a recorded call of a dead gateway at every point', async () => {
    await atEveryPoint(async (counter) => {
      await rig.reserve(counter, 'of a dead gateway', 20);
      await rig.reserve(counter, 'call', 10);
      rig.ledger.record(counter, 'of a dead gateway', 20);
      await rig.finish(counter, 'call', 10);
      await rig.quota.usage(counter);
    });
  });

  it('counts each call once at every point of a sweep that settles and releases', async () => {
    await atEveryPoint(async (counter) => {
      for (const callId of ['recorded', 'not recorded']) await rig.reserve(counter, callId, 10);
      rig.ledger.record(counter, 'recorded', 10);
      redis.stop();
      await rig.age(counter, leaseMs);
      redis.resume();
      await rig.sweep();
      await rig.quota.usage(counter);
    });
  });

  it('does not count a call whose records went to another when Redis was emptied twice', async () => {
    const counter = freshCounter();
    const stop = 120;
    rig.ledger.record(counter, `earlier call ${counter.organisationId}`, 110);
    await rig.reserve(counter, 'slow', 10, stop);
    await redis.flushdb();
    await rig.reserve(counter, 'quick', 10, stop);
    expect(await rig.finish(counter, 'quick', 10)).to.equal('answered');
    rig.ledger.record(counter, 'slow', 10);
    await redis.flushdb();
    await rig.quota.usage(counter);
    const settled = rig.quota.settle(counter, 'slow', { stop }).catch((error: unknown) => error);
    expect(await settled).to.be.instanceOf(QuotaLeaseLost);
    rig.ledger.voidCall('slow');
    expect(await rig.quota.release(counter, 'slow')).to.equal(false);
    await rig.settleDown(counter);
    expect(await rig.quota.usage(counter)).to.deep.equal({ used: stop, leased: 0 });
  });

  it('settles a held call at any stop, and a counted one only up to the stop', async () => {
    const counter = freshCounter();
    await rig.reserve(counter, 'call', 10);
    for (const stop of [5, 10])
      expect(await rig.quota.settle(counter, 'call', { stop })).to.deep.equal({ used: 10, leased: 0 });
    const past = rig.quota.settle(counter, 'call', { stop: 9 }).catch((error: unknown) => error);
    expect(await past).to.be.instanceOf(QuotaLeaseLost);
  });

  it('never answers calls beyond the stop, at every point', async () => {
    await atEveryPoint(async (counter) => {
      let answered = 100;
      const held: string[] = [];
      for (let index = 0; index < 6; index += 1) {
        const callId = `call ${index}`;
        await rig.reserve(counter, callId, 100, 400).then(
          () => held.push(callId),
          () => undefined,
        );
        const oldest = index % 2 ? held.shift() : undefined;
        if (oldest && (await rig.finish(counter, oldest, 100)) === 'answered') answered += 100;
      }
      for (const callId of held) if ((await rig.finish(counter, callId, 100)) === 'answered') answered += 100;
      expect(answered).to.be.at.most(400);
      expect(rig.ledger.sum(counter)).to.equal(answered);
    });
  });
});
