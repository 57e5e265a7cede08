import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type RedisCluster, startRedisCluster } from '../../scripts/servers/redis/redis-cluster.js';
import { machineClock } from '../../shared/contract/dates.js';
import { newId } from '../../shared/contract/identifiers.js';
import { createLogger } from '../../shared/process/logger.js';
import { connectionReady, connectRedis, mastersOf, type Redis } from '../../shared/redis/connect.js';
import { connectMongo, type Mongo } from '../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../shared/store/connection/prepare-database.js';
import { inTransaction } from '../../shared/store/connection/transaction.js';
import { withdrawOrganisation } from '../../shared/store/organisations/withdraw-organisation.js';
import { removalTimings, removeOrganisations } from '../../worker/upkeep/deletions/remove-organisations.js';
import { type Everywhere, everything, fillEverywhere } from '../support/organisations/every-collection.js';
import { freshDatabases } from '../support/service/servers.js';
import { startTimeoutMs } from '../support/service/service.js';

const leaseMs = 30_000;

describe('the removal of organisations on a Redis Cluster', () => {
  let directory: string;
  let cluster: RedisCluster;
  let redis: Redis;
  let mongo: Mongo;
  let nowMs = Date.now();

  before(async function () {
    this.timeout(startTimeoutMs);
    directory = await mkdtemp(join(tmpdir(), 'leadscore-cluster-'));
    cluster = await startRedisCluster({ directory });
    redis = connectRedis({
      ...{ url: cluster.url, name: 'test', kind: 'commands' },
      logger: createLogger('silent', 'test'),
    });
    await connectionReady(redis);
    mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
    await prepareDatabase(mongo.database);
  });
  after(async () => {
    redis?.disconnect();
    await mongo?.client.close();
    await cluster?.stop();
    await rm(directory, { recursive: true, force: true });
  });
  beforeEach(() => {
    nowMs = Date.now();
  });

  const clock = { ...machineClock(), now: () => nowMs };
  const run = () =>
    removeOrganisations({
      ...{ database: mongo.database, redis, clock, leaseMs, timings: removalTimings },
      logger: { info: () => undefined },
    });
  const order = ({ id }: Everywhere) =>
    inTransaction(
      mongo.client,
      async ({ session }) => {
        const at = { requestedAt: new Date(nowMs), dueAt: new Date(nowMs) };
        await withdrawOrganisation(mongo.database, session, { organisationId: id, by: 'Olga', ...at });
      },
      { timeoutMs: 10_000 },
    );
  /** The part of an organisation on all nodes, by key: a whole key, or members of a shared one. */
  async function inRedis({ marks }: Everywhere): Promise<ReadonlyMap<string, string>> {
    const isOwn = (text: string): boolean => marks.some((mark) => text.includes(mark));
    const found = [...(await everything(mongo.database, redis))]
      .filter(([name]) => name.startsWith('redis '))
      .map(([name, text]) => [name, isOwn(name) ? text : text.split('\n').filter(isOwn).join('\n')] as const);
    return new Map(found.filter(([, text]) => text !== ''));
  }

  it('leaves nothing on any node, and a neighbour with the same six characters stays whole', async function () {
    this.timeout(2 * startTimeoutMs);
    const gone: Everywhere[] = [];
    const keysOnNodes = () => Promise.all(mastersOf(redis).map((node) => node.keys('{org_*')));
    while ((await keysOnNodes()).some((keys) => keys.length === 0))
      gone.push(await fillEverywhere({ ...mongo, redis }, newId('org')));
    const [first] = gone;
    if (first === undefined) throw new Error('no organisation');
    const neighbour = await fillEverywhere({ ...mongo, redis }, `${first.id.slice(0, 'org_'.length + 6)}neighbour0`);
    const before = await inRedis(neighbour);
    expect(await keysOnNodes()).to.have.length(3);
    for (const one of gone) {
      expect([...(await inRedis(one)).keys()]).to.have.length([...before.keys()].length);
      await order(one);
    }
    expect(await run()).to.equal(0);
    nowMs += leaseMs;
    expect(await run()).to.equal(gone.length);
    for (const one of gone) expect(await inRedis(one)).to.deep.equal(new Map());
    expect(await inRedis(neighbour)).to.deep.equal(before);
  });
});
