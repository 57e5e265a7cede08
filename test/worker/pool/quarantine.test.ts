import { expect } from 'chai';
import { Redis } from 'ioredis';
import { modelStrikesKey } from '../../../shared/redis/keys.js';
import {
  endSuspension,
  isQuarantined,
  isSuspended,
  quarantinedVersions,
  strikeCommand,
  suspend,
} from '../../../worker/pool/quarantine.js';
import { freshDatabases } from '../../support/service/servers.js';

const hourMs = 60 * 60 * 1_000;

describe('the quarantine of a version', () => {
  let redis: Redis;
  let nowMs: number;

  beforeEach(async () => {
    redis = new Redis((await freshDatabases()).redisUrl);
    nowMs = Date.now();
  });
  afterEach(() => redis.disconnect());

  const strikes = () => redis.hgetall(modelStrikesKey);
  const isRefusedAt = async (atMs: number) => isQuarantined(await strikes(), 'mdl:1', atMs);

  it('begins with the second death within a minute, and is of that version alone', async () => {
    const strike = strikeCommand(redis);
    expect(await strike('mdl:1', nowMs - 59_999)).to.equal(1);
    expect(await isRefusedAt(nowMs)).to.equal(false);
    expect(await strike('mdl:2', nowMs)).to.equal(1);
    expect(await strike('mdl:1', nowMs)).to.equal(2);
    expect(await isRefusedAt(nowMs)).to.equal(true);
    expect(await quarantinedVersions(redis)).to.deep.equal(['mdl:1']);
    expect(isQuarantined(await strikes(), 'mdl:2', nowMs)).to.equal(false);
  });

  it('does not begin with deaths that are a minute apart', async () => {
    const strike = strikeCommand(redis);
    for (const ageMs of [120_000, 60_000, 0]) expect(await strike('mdl:1', nowMs - ageMs)).to.equal(1);
    expect(await isRefusedAt(nowMs)).to.equal(false);
  });

  it('ends an hour after the last death, whatever is said of other versions meanwhile', async () => {
    const strike = strikeCommand(redis);
    await strike('mdl:1', nowMs);
    await strike('mdl:1', nowMs);
    await strike('mdl:2', nowMs + hourMs / 2);
    await suspend(redis, 'mdl:3', nowMs + hourMs);
    expect(await isRefusedAt(nowMs + hourMs - 1)).to.equal(true);
    expect(await isRefusedAt(nowMs + hourMs)).to.equal(false);
    expect(await strike('mdl:1', nowMs + hourMs), 'it begins anew').to.equal(1);
  });

  it('leaves nothing in Redis an hour after the last death', async () => {
    await strikeCommand(redis)('mdl:1', nowMs);
    expect(await redis.pttl(modelStrikesKey)).to.be.within(hourMs - 10_000, hourMs);
  });

  it('is not begun by a suspicion, which ends when the worker has come back or with its time', async () => {
    await suspend(redis, 'mdl:1', nowMs + 8_000);
    const told = await strikes();
    expect(
      [nowMs, nowMs + 7_999, nowMs + 8_000].map((atMs) => isSuspended(told, 'mdl:1', atMs)),
    ).to.deep.equal([true, true, false]);
    expect(isSuspended(told, 'mdl:2', nowMs)).to.equal(false);
    expect(await isRefusedAt(nowMs)).to.equal(false);
    await endSuspension(redis, 'mdl:1');
    expect(isSuspended(await strikes(), 'mdl:1', nowMs)).to.equal(false);
  });
});
