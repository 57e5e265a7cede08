import { expect } from 'chai';
import { Redis } from 'ioredis';
import { modelStrikesKey } from '../../../shared/redis/keys.js';
import { isQuarantined, quarantinedVersions, strikeCommand } from '../../../worker/pool/quarantine.js';
import { freshDatabases } from '../../support/service/servers.js';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

const of = (version: string) => ({ partition: 0, model: 'mdl', version });

describe('the quarantine of a version', () => {
  let redis: Redis;
  let nowMs: number;

  beforeEach(async () => {
    redis = new Redis((await freshDatabases()).redisUrl);
    nowMs = Date.now();
  });
  afterEach(() => redis.disconnect());

  const isRefusedAt = async (atMs: number, modelKey = 'mdl:1') =>
    isQuarantined(await redis.hgetall(modelStrikesKey), modelKey, atMs);
  /** The quarantine ends exactly then. */
  const expectEndsAt = async (endMs: number) =>
    expect([await isRefusedAt(endMs - 1), await isRefusedAt(endMs)]).to.deep.equal([true, false]);

  it('begins with the second crash within a minute and lasts an hour, for that version alone', async () => {
    const strike = strikeCommand(redis);
    expect(await strike(of('1'), 'crash', nowMs - minuteMs + 1)).to.equal(1);
    expect(await isRefusedAt(nowMs)).to.equal(false);
    expect(await strike(of('2'), 'crash', nowMs)).to.equal(1);
    expect(await strike(of('1'), 'crash', nowMs)).to.equal(2);
    expect(await isRefusedAt(nowMs)).to.equal(true);
    await expectEndsAt(nowMs + hourMs);
    expect(await quarantinedVersions(redis)).to.deep.equal(['mdl:1']);
    expect(await isRefusedAt(nowMs, 'mdl:2')).to.equal(false);
  });

  it('does not begin with crashes that are a minute apart', async () => {
    const strike = strikeCommand(redis);
    for (const ageMs of [2 * minuteMs, minuteMs, 0]) expect(await strike(of('1'), 'crash', nowMs - ageMs)).to.equal(1);
    expect(await isRefusedAt(nowMs)).to.equal(false);
  });

  it('begins with the second hang within an hour and lasts an hour', async () => {
    const strike = strikeCommand(redis);
    expect(await strike(of('1'), 'hang', nowMs)).to.equal(1);
    expect(await isRefusedAt(nowMs)).to.equal(false);
    const laterMs = nowMs + hourMs - 1;
    expect(await strike(of('1'), 'hang', laterMs)).to.equal(2);
    await expectEndsAt(laterMs + hourMs);
  });

  it('does not begin with hangs that are an hour apart', async () => {
    const strike = strikeCommand(redis);
    for (const atMs of [nowMs, nowMs + hourMs]) expect(await strike(of('1'), 'hang', atMs)).to.equal(1);
    expect(await isRefusedAt(nowMs + hourMs)).to.equal(false);
  });

  it('ends after its hour although other versions get strikes meanwhile, and counts from one again', async () => {
    const strike = strikeCommand(redis);
    await strike(of('1'), 'crash', nowMs);
    await strike(of('1'), 'crash', nowMs);
    await strike(of('2'), 'crash', nowMs + hourMs / 2);
    await expectEndsAt(nowMs + hourMs);
    expect(await strike(of('1'), 'crash', nowMs + hourMs)).to.equal(1);
  });

  it('leaves nothing in Redis an hour after the last strike', async () => {
    await strikeCommand(redis)(of('1'), 'crash', nowMs);
    expect(await redis.pttl(modelStrikesKey)).to.be.within(hourMs - 10_000, hourMs);
  });
});
