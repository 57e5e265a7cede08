import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import { ClockWatch, observeClock } from '../../../shared/process/clock-watch.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabases } from '../../support/service/servers.js';

describe("a watch of this machine's clock", () => {
  let redis: Redis;
  let said: string[];
  /** By how much this machine's clock is put forward. */
  let movedMs: number;
  let watch: ClockWatch;

  beforeEach(async () => {
    const { redisUrl } = await freshDatabases();
    redis = new Redis(redisUrl);
    said = [];
    movedMs = 0;
    const logger = {
      warn: (_: unknown, text?: string) => said.push(`warn: ${text}`),
      info: (_: unknown, text?: string) => said.push(`info: ${text}`),
    };
    watch = new ClockWatch(redis, logger, () => Date.now() + movedMs);
  });

  afterEach(async () => {
    await watch.stop();
    redis.disconnect();
  });

  /** Looks until an answer came quickly enough to tell. */
  const measured = async (aboutMs: number): Promise<void> =>
    eventually(async () => {
      await watch.look();
      expect(watch.aheadMs).to.be.closeTo(aboutMs, 500);
    });

  it('looks at once, and says nothing while it is in step with that of Redis', async () => {
    await eventually(() => expect(watch.aheadMs).to.be.a('number'));
    await measured(0);
    movedMs = 1_200;
    await measured(1_200);
    expect(said).to.deep.equal([]);
  });

  it('says once that it is ahead or behind, and when it is in step again', async () => {
    movedMs = 5_000;
    await measured(5_000);
    await measured(5_000);
    movedMs = 0;
    await measured(0);
    movedMs = -3_600_000;
    await measured(-3_600_000);
    expect(said).to.have.length(3);
    expect(said[0]).to.match(
      /^warn: this machine's clock is [45]\.\d s ahead of Redis's: keep both in step, with NTP$/,
    );
    expect(said[1]).to.equal("info: this machine's clock is in step with Redis's again");
    expect(said[2]).to.match(/^warn: this machine's clock is 3(599|600)\.\d s behind Redis's: /);
  });

  it('keeps what it measured while Redis does not answer, and gives it to Prometheus', async () => {
    movedMs = 5_000;
    await measured(5_000);
    redis.disconnect();
    await watch.look();
    expect(watch.aheadMs).to.be.closeTo(5_000, 500);
    const registry = new Registry();
    observeClock(registry, watch);
    const [, value] = /^leadscore_clock_ahead_seconds (\S+)$/m.exec(await registry.metrics()) ?? [];
    expect(Number(value)).to.be.closeTo(5, 0.5);
  });
});
