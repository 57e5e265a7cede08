import { Queue } from 'bullmq';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { checkBundle } from '../../../../shared/bundle/check-bundle.js';
import { dayMs } from '../../../../shared/contract/dates.js';
import { newId } from '../../../../shared/contract/identifiers.js';
import { gradingQueueName, requestGrading } from '../../../../shared/messages/grading-job.js';
import { createLogger } from '../../../../shared/process/logger.js';
import { type Change, subscribeToChanges } from '../../../../shared/redis/changes.js';
import { connectRedis } from '../../../../shared/redis/connect.js';
import { queuePrefix } from '../../../../shared/redis/keys.js';
import { connectMongo, type Mongo } from '../../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../../shared/store/connection/prepare-database.js';
import type { Model } from '../../../../shared/store/models/models.js';
import { createModel } from '../../../../shared/store/models/store-version.js';
import { type StoredVerdict, ValidationStore } from '../../../../shared/store/validation/model-validation.js';
import { gradeAndPublish } from '../../../../worker/grading/job/grade-models.js';
import { startGradingLane } from '../../../../worker/grading/job/grading-lane.js';
import { eventually } from '../../../support/eventually.js';
import { sampleBundle } from '../../../support/models/sample-bundle.js';
import { type FreshDatabases, freshDatabases } from '../../../support/service/servers.js';
import { RecordedWorld } from '../recorded-world.js';

const hourMs = 60 * 60 * 1000;

describe('startGradingLane', () => {
  let databases: FreshDatabases;
  let mongo: Mongo;
  let redis: Redis;
  let nowMs: number;
  const clock = { now: () => nowMs };
  const stops: (() => unknown)[] = [];

  before(async () => {
    databases = await freshDatabases();
    mongo = await connectMongo(databases.mongoUrl, { name: 'test' });
    await prepareDatabase(mongo.database);
    redis = new Redis(databases.redisUrl);
  });
  after(async () => {
    redis.disconnect();
    await mongo.client.close();
  });
  beforeEach(() => {
    nowMs = Date.UTC(2026, 4, 10, 12);
  });
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
    await redis.flushdb();
    await mongo.database.collection('models').deleteMany({});
  });

  const newModel = async (organisationId = newId('org'), family: Model['family'] = 'forward'): Promise<Model> => {
    const bundle = checkBundle(sampleBundle({ family }));
    return await createModel(mongo.database, { organisationId, bundle, now: new Date(nowMs) });
  };

  const startLane = async (): Promise<void> => {
    const logger = createLogger('silent', 'test');
    const blocking = connectRedis({ url: databases.redisUrl, name: 'test', kind: 'blocking', logger });
    const lane = await startGradingLane({ database: mongo.database, clock, redis, blocking, logger });
    stops.push(
      () => blocking.disconnect(),
      () => lane.stop(),
    );
  };

  const verdictOf = (model: Model): Promise<StoredVerdict | undefined> =>
    new ValidationStore(mongo.database).find(`${model._id}:${model.version}`, 5_000);

  const graded = (model: Model): Promise<StoredVerdict> =>
    eventually(async () => {
      const verdict = await verdictOf(model);
      if (verdict === undefined) throw new Error('not graded yet');
      return verdict;
    }, 10_000);

  /** Subscribes like a gateway and collects all changes that are published from now on. */
  async function collectChanges(): Promise<readonly Change[]> {
    const changes: Change[] = [];
    const subscriber = redis.duplicate();
    stops.push(() => subscriber.disconnect());
    await subscribeToChanges(subscriber, {
      onChange: (change) => changes.push(change),
      onGap: () => undefined,
    });
    return changes;
  }

  it('grades due versions at start and publishes the verdicts', async () => {
    const changes = await collectChanges();
    const model = await newModel();
    nowMs += dayMs;
    await startLane();
    expect(await graded(model)).to.include({
      state: 'too_early_to_grade',
      failing_gate: 'predictions_recorded',
    });
    await eventually(() => {
      expect(changes).to.deep.include({ kind: 'validation', id: `${model._id}:${model.version}` });
    });
  });

  it('grades the forward models of one organisation after an import', async () => {
    const organisation = newId('org');
    const [own, foreign] = [await newModel(organisation), await newModel()];
    const timing = await newModel(organisation, 'timing');
    const firstMs = nowMs;
    nowMs += hourMs;
    for (const model of [own, foreign]) {
      const ids = { organisationId: model.organisation_id, modelId: model._id, version: model.version };
      await gradeAndPublish({ database: mongo.database, clock: { now: () => firstMs }, redis }, { model, ...ids });
      await new RecordedWorld(mongo.database, ids).call(nowMs, [{ crmId: 'a', score: 10 }]);
    }
    // The start of the lane would else grade both: it checks models of too few leads in the daytime, too.
    const pastTheFirst = { $set: { failing_gate: 'outcomes_observed' } };
    await mongo.database.collection('model_validation').updateMany({}, pastTheFirst);
    await startLane();
    await requestGrading(redis, organisation);
    await eventually(async () => expect((await verdictOf(own))?.graded_at.getTime()).to.equal(nowMs), 10_000);
    expect(await redis.hget(`${queuePrefix}:${gradingQueueName}:meta`, 'opts.maxLenEvents')).to.equal('100');
    expect((await verdictOf(foreign))?.graded_at.getTime()).to.equal(firstMs);
    expect(await verdictOf(timing)).to.equal(undefined);
  });

  it('neither stores nor publishes the verdict of a future date', async () => {
    const changes = await collectChanges();
    const deps = { database: mongo.database, clock, redis };
    const [rehearsed, plain] = [await newModel(), await newModel()];
    const one = { model: rehearsed, version: rehearsed.version };
    const rehearsal = await gradeAndPublish(deps, one, { asOfMs: nowMs + 1 });
    expect(rehearsal).to.include({ isRehearsal: true });
    expect(rehearsal.verdict.grade?.as_of.getTime()).to.equal(nowMs + 1);
    expect(await verdictOf(rehearsed)).to.equal(undefined);

    const { verdict } = await gradeAndPublish(deps, one, { asOfMs: nowMs - 1 });
    expect(await verdictOf(rehearsed)).to.deep.equal(verdict);
    await gradeAndPublish(deps, one, { asOfMs: nowMs + 100 * dayMs });
    expect(await verdictOf(rehearsed)).to.deep.equal(verdict);

    await gradeAndPublish(deps, { model: plain, version: plain.version });
    // A channel of Redis is one for all its numbered databases: other tests publish to it too.
    const ids = [`${rehearsed._id}:1.0.0`, `${plain._id}:1.0.0`];
    await eventually(() => {
      expect(changes.map(({ id }) => id).filter((id) => ids.includes(id))).to.deep.equal(ids);
    });
  });

  it('grades a version at start if its stored verdict is of a future date', async () => {
    const model = await newModel();
    const movedOn = { database: mongo.database, clock: { now: () => nowMs + 100 * dayMs }, redis };
    await gradeAndPublish(movedOn, { model, version: model.version });
    await startLane();
    await eventually(async () => {
      expect((await verdictOf(model))?.grade?.as_of.getTime()).to.equal(nowMs);
    }, 10_000);
  });

  it('recreates its schedule after Redis was emptied', async () => {
    await startLane();
    await redis.flushdb();
    const schedules = new Queue(gradingQueueName, { connection: redis, prefix: queuePrefix });
    stops.push(() => schedules.close());
    await eventually(async () => expect(await schedules.getJobSchedulersCount()).to.equal(1), 15_000);
  });
});
