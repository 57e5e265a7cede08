import { expect } from 'chai';
import { Redis } from 'ioredis';
import { startTurns } from '../../../../api/bulk/turns/turns.js';
import type { TurnQueue } from '../../../../shared/messages/turn-queue.js';
import { createLogger } from '../../../../shared/process/logger.js';
import { eventually } from '../../../support/eventually.js';
import { freshDatabases } from '../../../support/service/servers.js';

describe('the turns of organisations', () => {
  const connections: Redis[] = [];
  const started: TurnQueue[] = [];
  let redisUrl: string;

  before(async () => {
    redisUrl = (await freshDatabases()).redisUrl;
  });
  afterEach(async () => {
    for (const turns of started.splice(0)) await turns.stop();
    for (const redis of connections.splice(0)) redis.disconnect();
  });

  function connect(): Redis {
    const redis = new Redis(redisUrl, { maxRetriesPerRequest: null });
    connections.push(redis);
    return redis;
  }

  function start(queue: string, take: (organisationId: string) => Promise<boolean>, atOnce = 1): TurnQueue {
    const logger = createLogger('silent', 'test');
    const turns = startTurns({ queue, atOnce, take, commands: connect(), blocking: connect(), logger });
    started.push(turns);
    return turns;
  }

  it('go round, however many turns each organisation needs', async () => {
    const taken: string[] = [];
    const left = new Map([
      ['org_a', 4],
      ['org_b', 2],
      ['org_c', 1],
    ]);
    const turns = start('round-robin', async (organisationId) => {
      // All are in the queue before the first turn ends.
      await eventually(async () => expect(isAdded).to.equal(true));
      taken.push(organisationId);
      left.set(organisationId, (left.get(organisationId) ?? 0) - 1);
      return (left.get(organisationId) ?? 0) > 0;
    });
    let isAdded = false;
    await turns.add(left.keys());
    isAdded = true;
    await eventually(async () => expect(taken).to.have.length(7));
    expect(taken.slice(0, 5)).to.deep.equal(['org_a', 'org_b', 'org_c', 'org_a', 'org_b']);
  });

  it('never run twice at once for one organisation, however often it is added', async () => {
    let [atOnce, max, count] = [0, 0, 0];
    const take = async (): Promise<boolean> => {
      atOnce += 1;
      max = Math.max(max, atOnce);
      count += 1;
      await turns.add(['org_a']);
      await second.add(['org_a']);
      atOnce -= 1;
      return count < 10;
    };
    const turns = start('one-at-a-time', take, 3);
    const second = start('one-at-a-time', take, 3);
    await turns.add(['org_a']);
    await eventually(async () => expect(count).to.equal(10));
    expect(max).to.equal(1);
  });

  it('go on after a turn that failed, once the organisation is added again', async () => {
    let count = 0;
    const turns = start('failing', async () => {
      count += 1;
      if (count === 1) throw new Error('MongoDB is away');
      return false;
    });
    await eventually(async () => {
      await turns.add(['org_a']);
      expect(count).to.be.at.least(2);
    });
  });
});
