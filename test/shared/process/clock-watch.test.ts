import { expect } from 'chai';
import { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import { ClockWatch, observeClock } from '../../../shared/process/clock-watch.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabases } from '../../support/service/servers.js';

describe('ClockWatch', () => {
  let redis: Redis;
  let logged: string[];
  /** Added to this machine's clock. */
  let movedMs: number;
  let watch: ClockWatch;

  beforeEach(async () => {
    const { redisUrl } = await freshDatabases();
    redis = new Redis(redisUrl);
    logged = [];
    movedMs = 0;
    const logger = {
      warn: (_: unknown, text?: string) => logged.push(`warn: ${text}`),
      info: (_: unknown, text?: string) => logged.push(`info: ${text}`),
    };
    watch = new ClockWatch(redis, logger, () => Date.now() + movedMs);
  });

  afterEach(async () => {
    await watch.stop();
    redis.disconnect();
  });

  /** Measures until a reply came fast enough to be used. */
  const measured = async (aboutMs: number): Promise<void> =>
    eventually(async () => {
      await watch.measure();
      expect(watch.aheadMs).to.be.closeTo(aboutMs, 500);
    });

  it('measures at once, and logs nothing while the difference is below two seconds', async () => {
    await eventually(() => expect(watch.aheadMs).to.be.a('number'));
    await measured(0);
    movedMs = 1_200;
    await measured(1_200);
    expect(logged).to.deep.equal([]);
  });

  it('logs once when the clock is ahead or behind, and once when it agrees again', async () => {
    movedMs = 5_000;
    await measured(5_000);
    await measured(5_000);
    movedMs = 0;
    await measured(0);
    movedMs = -3_600_000;
    await measured(-3_600_000);
    expect(logged).to.have.length(3);
    expect(logged[0]).to.match(
      /^warn: this machine's clock is [45]\.\d s ahead of Redis's: keep both in step, with NTP$/,
    );
    expect(logged[1]).to.equal("info: this machine's clock is in step with Redis's again");
    expect(logged[2]).to.match(/^warn: this machine's clock is 3(599|600)\.\d s behind Redis's: /);
  });

  it('keeps the last measurement while Redis does not answer, and exports it to Prometheus', async () => {
    movedMs = 5_000;
    await measured(5_000);
    redis.disconnect();
    await watch.measure();
    expect(watch.aheadMs).to.be.closeTo(5_000, 500);
    const registry = new Registry();
    observeClock(registry, watch);
    const [, value] = /^leadscore_clock_ahead_seconds (\S+)$/m.exec(await registry.metrics()) ?? [];
    expect(Number(value)).to.be.closeTo(5, 0.5);
  });
});
