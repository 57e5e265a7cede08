import { Worker } from 'bullmq';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import type { Db } from 'mongodb';
import { machineClock } from '../../../shared/contract/dates.js';
import { newId } from '../../../shared/contract/identifiers.js';
import { gradingQueueName, requestGrading } from '../../../shared/messages/grading-job.js';
import { queuePrefix } from '../../../shared/redis/keys.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { inTransaction } from '../../../shared/store/connection/transaction.js';
import { type Deletion, DeletionStore } from '../../../shared/store/organisations/deletions.js';
import { organisationData, otherCollections } from '../../../shared/store/organisations/organisation-data.js';
import { withdrawOrganisation } from '../../../shared/store/organisations/withdraw-organisation.js';
import { removalTimings, removeOrganisations } from '../../../worker/upkeep/deletions/remove-organisations.js';
import { type Everywhere, everything, fillEverywhere } from '../../support/organisations/every-collection.js';
import { dyingAfter } from '../../support/scoring/dying-database.js';
import { freshDatabases } from '../../support/service/servers.js';

const leaseMs = 30_000;

describe('the removal of an organisation', () => {
  let mongo: Mongo;
  let redis: Redis;
  let nowMs: number;
  const logged: object[] = [];
  const logger = { info: (...entry: unknown[]) => void logged.push(entry) };

  beforeEach(async () => {
    const { mongoUrl, redisUrl } = await freshDatabases();
    mongo = await connectMongo(mongoUrl, { name: 'test' });
    redis = new Redis(redisUrl, { maxRetriesPerRequest: null, replyMapping: 'legacy' });
    await prepareDatabase(mongo.database);
    nowMs = Date.now();
    logged.length = 0;
  });
  afterEach(async () => {
    redis.disconnect();
    await mongo.client.close();
  });

  const clock = { ...machineClock(), now: () => nowMs };
  const run = (database: Db = mongo.database, given: Partial<Parameters<typeof removeOrganisations>[0]> = {}) =>
    removeOrganisations({ database, redis, clock, leaseMs, logger, timings: removalTimings, ...given });
  const fill = (id: string = newId('org')) => fillEverywhere({ database: mongo.database, redis }, id);
  const order = ({ id }: Everywhere, dueMs = nowMs) =>
    inTransaction(
      mongo.client,
      async ({ session }) => {
        const deletion = { organisationId: id, requestedAt: new Date(nowMs), by: 'Olga', dueAt: new Date(dueMs) };
        await withdrawOrganisation(mongo.database, session, deletion);
      },
      { timeoutMs: 10_000 },
    );
  const receiptOf = async ({ id }: Everywhere): Promise<Deletion> => {
    const found = await new DeletionStore(mongo.database).find(id);
    if (found === undefined) throw new Error('no receipt');
    return found;
  };
  /** Where a text of an organisation is found, except in its receipt. */
  async function foundOf({ marks }: Everywhere): Promise<string[]> {
    const texts = await everything(mongo.database, redis);
    const has = (text: string): boolean => marks.some((mark) => text.includes(mark));
    return [...texts]
      .filter(([name, text]) => name !== 'org_deletions' && has(`${name} ${text}`))
      .map(([name]) => name);
  }
  /** The documents, keys and members of shared keys that name an organisation. */
  async function partOf({ marks }: Everywhere): Promise<ReadonlyMap<string, string>> {
    const texts = await everything(mongo.database, redis);
    const isOwn = (text: string): boolean => marks.some((mark) => text.includes(mark));
    const own = (text: string): string => text.split('\n').filter(isOwn).join('\n');
    const found = [...texts].map(([name, text]) => [name, isOwn(name) ? text : own(text)] as const);
    return new Map(found.filter(([, text]) => text !== ''));
  }

  it('knows every collection of the database, and the test fills each', async () => {
    const { stored } = await fill();
    const existing = (await mongo.database.listCollections({}, { nameOnly: true }).toArray())
      .map(({ name }) => name)
      .filter((name) => !name.startsWith('system.'));
    const removed = organisationData.map(({ collection }) => collection);
    expect([...removed, ...Object.keys(otherCollections)]).to.have.members([
      ...existing,
      ...['retention'].filter((name) => !existing.includes(name)),
    ]);
    expect(Object.keys(stored)).to.include.members(removed);
  });

  it('begins when the days are over, and leaves nothing but a receipt; a neighbour stays whole', async () => {
    const gone = await fill();
    // Its ids begin with the same six characters.
    const neighbour = await fill(`${gone.id.slice(0, 'org_'.length + 6)}neighbour0`);
    await mongo.database
      .collection<{ _id: string; after: object }>('retention')
      .insertOne({ _id: 'outcomes', after: { org: gone.id, crm_id: gone.marks[2] } });
    const before = await partOf(neighbour);
    const collections = organisationData.map(({ collection }) => collection);
    await order(gone, nowMs + 1_000);
    expect(await run()).to.equal(0);
    expect(await foundOf(gone)).to.include.members(['calls', 'orgs', 'bundles.chunks', `redis {${gone.id}}:leads`]);
    nowMs += 1_000;
    const begunMs = nowMs;
    expect(await run()).to.equal(0);
    expect(await receiptOf(gone)).to.include({ state: 'removing' });
    expect(await foundOf(gone)).to.deep.equal(['orgs']);
    nowMs += leaseMs - 1;
    expect(await run()).to.equal(0);
    nowMs += 1;
    expect(await run()).to.equal(1);
    expect(await foundOf(gone)).to.deep.equal([]);
    expect(await partOf(neighbour)).to.deep.equal(before);
    expect([...before.keys()]).to.include.members([...collections, 'bundles.chunks', `redis {${neighbour.id}}:leads`]);
    const { orgs: _, changes: __, ...counted } = gone.stored;
    expect(await receiptOf(gone)).to.deep.equal({
      ...{ _id: gone.id, state: 'deleted', by: 'Olga' },
      requested_at: new Date(begunMs - 1_000),
      due_at: new Date(begunMs),
      begun_at: new Date(begunMs),
      ended_at: new Date(nowMs),
      // Withdrawn people have no session and no link.
      removed: Object.fromEntries(
        Object.entries(counted).filter(([name]) => name !== 'console_links' && name !== 'console_sessions'),
      ),
      records: [
        { month: '2026-10', live: 80, test: 40 },
        { month: '2026-11', live: 80, test: 40 },
      ],
    });
    expect(JSON.stringify(logged)).to.include('organisation deleted');
    for (const mark of gone.marks.slice(1, 4)) expect(JSON.stringify(logged)).to.not.include(mark);
    expect(await run()).to.equal(0);
  });

  it('ends with the same receipt when it is killed after any of its steps and begun again', async function () {
    this.timeout(180_000);
    const [killed, other] = [await fill(), await fill()];
    await order(other);
    await run();
    nowMs += leaseMs;
    expect(await run()).to.equal(1);
    await order(killed);
    let kills = 0;
    for (let operations = 1; (await receiptOf(killed)).state !== 'deleted'; operations += 1) {
      await run(dyingAfter(mongo.database, operations)).catch((error: unknown) => {
        if (!String(error).includes('killed')) throw error;
        kills += 1;
      });
      nowMs += leaseMs;
    }
    expect(kills).to.be.above(50);
    expect(await foundOf(killed)).to.deep.equal([]);
    const { removed, records } = await receiptOf(killed);
    expect({ removed, records }).to.deep.equal({
      removed: (await receiptOf(other)).removed,
      records: (await receiptOf(other)).records,
    });
  });

  it('goes through all parts again as long as it finds something', async () => {
    const gone = await fill();
    await order(gone);
    await run();
    const late = { _id: `${gone.id}:live:late`, reply: 'late', expires_at: new Date(nowMs + 1e9) };
    const replies = mongo.database.collection<{ _id: string }>('idempotency');
    await replies.insertOne(late);
    await redis.hset(`{${gone.id}}:leads`, 'late', 'late');
    nowMs += leaseMs;
    expect(await run(), 'the second pass finds keys').to.equal(0);
    expect(await replies.countDocuments({})).to.equal(0);
    nowMs += leaseMs;
    expect(await run()).to.equal(1);
    expect((await receiptOf(gone)).removed).to.include({ idempotency: 2 });
    expect(await foundOf(gone)).to.deep.equal([]);
  });

  it('waits for a job that a process works on', async () => {
    const gone = await fill();
    await order(gone);
    await run();
    await requestGrading(redis, gone.id);
    const worker = new Worker(gradingQueueName, null, {
      connection: redis,
      prefix: queuePrefix,
      skipStalledCheck: true,
    });
    try {
      const job = await worker.getNextJob('a token', { block: false });
      for (let pass = 2; pass <= 4; pass += 1) {
        nowMs += leaseMs;
        expect(await run(), `pass ${pass}`).to.equal(0);
      }
      await job?.moveToFailed(new Error('the model is gone'), 'a token', false);
    } finally {
      await worker.close();
    }
    for (let pass = 0; pass < 2; pass += 1) {
      nowMs += leaseMs;
      await run();
    }
    expect(await receiptOf(gone)).to.include({ state: 'deleted' });
    expect(await foundOf(gone)).to.deep.equal([]);
  });

  it('does nothing once its time is over or it is to end, and goes on in the next run', async () => {
    const gone = await fill();
    await order(gone);
    await run(mongo.database, { signal: AbortSignal.abort() });
    await run(mongo.database, { timings: { ...removalTimings, maxJobMs: -1 } });
    expect(await receiptOf(gone)).to.include({ state: 'pending' });
    await run();
    nowMs += leaseMs;
    expect(await run()).to.equal(1);
  });

  it('is left alone by a second process that works at the same time', async function () {
    this.timeout(120_000);
    const gone = await fill();
    await order(gone);
    await Promise.all([run(), run(), run()]);
    nowMs += leaseMs;
    await Promise.all([run(), run()]);
    nowMs += leaseMs;
    await run();
    const { state, removed } = await receiptOf(gone);
    expect(state).to.equal('deleted');
    expect(removed).to.include({ calls: gone.stored.calls, outcomes: gone.stored.outcomes });
  });
});
