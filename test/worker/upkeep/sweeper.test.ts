import { expect } from 'chai';
import { createLogger } from '../../../shared/process/logger.js';
import { connectionReady, connectRedis, type Redis } from '../../../shared/redis/connect.js';
import { sweepTurnKey } from '../../../shared/redis/keys.js';
import { startSweeper } from '../../../worker/upkeep/sweeper.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabases } from '../../support/service/servers.js';

const everyMs = 200;
const logger = createLogger('silent', 'test');

describe('the sweeper of a pool', () => {
  let redis: Redis;
  const stops: (() => Promise<void>)[] = [];

  beforeEach(async () => {
    redis = connectRedis({ url: (await freshDatabases()).redisUrl, name: 'test', kind: 'commands', logger });
    await connectionReady(redis);
  });
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
    redis.disconnect();
  });

  const start = (sweep: () => Promise<void>, on = redis) => {
    const sweeper = startSweeper({ redis: on, everyMs, sweep, logger });
    stops.push(() => sweeper.stop());
    return sweeper;
  };
  const expectSweeps = (sweptAtMs: readonly number[], count: number) =>
    eventually(() => expect(sweptAtMs).to.have.length.above(count - 1), 5_000);

  it('takes turns with the sweepers of other pools', async () => {
    const sweptAtMs: number[] = [];
    const sweep = async () => {
      sweptAtMs.push(performance.now());
    };
    const beganMs = performance.now();
    for (let pools = 0; pools < 3; pools += 1) start(sweep);
    await expectSweeps(sweptAtMs, 6);
    expect(sweptAtMs.length).to.be.at.most(1 + (performance.now() - beganMs) / (everyMs / 2));
  });

  it('goes on after another sweeper has stopped, and after a failed sweep', async () => {
    const first = start(async () => undefined);
    const sweptAtMs: number[] = [];
    start(async () => {
      sweptAtMs.push(performance.now());
      throw new Error('no primary');
    });
    await first.stop();
    await expectSweeps(sweptAtMs, 3);
  });

  it('sweeps also when Redis does not answer', async () => {
    const away = connectRedis({ url: 'redis://127.0.0.1:1', name: 'test', kind: 'commands', logger });
    stops.push(async () => away.disconnect());
    const sweptAtMs: number[] = [];
    start(async () => {
      sweptAtMs.push(performance.now());
    }, away);
    await expectSweeps(sweptAtMs, 3);
  });

  it("goes on after Redis's clock was set back, which makes its lock last for an hour", async () => {
    await redis.set(sweepTurnKey, 'a pool', 'PX', 60 * 60 * 1_000);
    const sweptAtMs: number[] = [];
    start(async () => {
      sweptAtMs.push(performance.now());
    });
    await expectSweeps(sweptAtMs, 3);
  });

  it('begins no sweep before the one before has ended', async () => {
    let [inFlight, maxInFlight, sweeps] = [0, 0, 0];
    let end = (): void => undefined;
    start(async () => {
      inFlight += 1;
      maxInFlight = Math.max(maxInFlight, inFlight);
      sweeps += 1;
      if (sweeps === 1)
        await new Promise<void>((resolve) => {
          end = resolve;
          setTimeout(resolve, 5 * everyMs);
        });
      inFlight -= 1;
    });
    try {
      await eventually(() => expect(sweeps).to.be.above(2), 5_000);
    } finally {
      end();
    }
    expect(maxInFlight).to.equal(1);
  });
});
