import { expect } from 'chai';
import fc from 'fast-check';
import { QuotaError } from '../../../shared/quota/quota-errors.js';
import { redisNowMs } from '../../../shared/quota/redis-time.js';
import { type UsageCounter, usageKey } from '../../../shared/redis-keys.js';
import { freshDatabases } from '../../support/servers.js';
import { modelStop, QuotaModel } from './quota-model.js';
import { freshCounter, leaseMs, QuotaRig } from './quota-rig.js';

interface Real {
  readonly rig: QuotaRig;
  readonly counter: UsageCounter;
}

/** One step of the model and of the real thing; what both say must be equal afterwards. */
class Step implements fc.AsyncCommand<QuotaModel, Real> {
  constructor(
    readonly name: string,
    readonly may: (model: QuotaModel) => boolean,
    readonly takePlace: (model: QuotaModel, real: Real) => Promise<void>,
  ) {}

  check(model: QuotaModel): boolean {
    return this.may(model);
  }

  async run(model: QuotaModel, real: Real): Promise<void> {
    await this.takePlace(model, real);
    const { rig, counter } = real;
    const [used, leased] = await rig.redis.hmget(usageKey(counter), 'used', 'leased');
    const expected = model.known ? [String(model.used), String(model.leased)] : [null, null];
    expect([used, leased]).to.deep.equal(expected);
    expect(rig.ledger.sum(counter)).to.equal(model.ledgerSum);
    if (!model.excess) expect(model.used + model.leased).to.be.at.most(modelStop);
  }

  toString = (): string => this.name;
}

const always = () => true;
const outcomeNames: Readonly<Record<string, string>> = {
  QuotaWouldCrossStop: 'would cross the stop',
  QuotaCallEnded: 'ended',
  QuotaLeaseLost: 'lost',
};

/** The outcome of a quota method, in the model's words. */
async function outcomeOf(work: Promise<unknown>, done: string): Promise<string> {
  try {
    await work;
    return done;
  } catch (error) {
    if (error instanceof QuotaError) return outcomeNames[error.name] ?? error.name;
    throw error;
  }
}

const reserve = (callId: string, records: number) =>
  new Step(
    `reserve(${callId}, ${records})`,
    (model) => model.call(callId).recordedAge === undefined,
    async (model, { rig, counter }) => {
      const { state, records: held } = model.call(callId);
      const work = rig.reserve(counter, callId, state === 'held' ? held : records, modelStop);
      expect(await outcomeOf(work, 'held')).to.equal(model.reserve(callId, records));
    },
  );

const reserveTooLate = (callId: string) =>
  new Step(
    `reserveTooLate(${callId})`,
    (model) => model.call(callId).recordedAge === undefined,
    async (model, { rig, counter }) => {
      const deadlineRedisMs = (await redisNowMs(rig.redis)) - 1;
      const work = rig.quota.reserve({ counter, callId, records: 1, stop: modelStop, deadlineRedisMs });
      expect(await outcomeOf(work, 'held')).to.equal('QuotaTooLate');
      await rig.quota.release(counter, callId); // after the release that the quota sends by itself
      model.release(callId); // the late command may be the second of two, so what the first held is given back
      model.call(callId).alive = false;
    },
  );

const record = (callId: string) =>
  new Step(
    `record(${callId})`,
    (model) => model.mayRecord(callId),
    async (model, { rig, counter }) => {
      rig.ledger.record(counter, callId, model.call(callId).records);
      model.call(callId).recordedAge = 0;
    },
  );

const settle = (callId: string) =>
  new Step(
    `settle(${callId})`,
    (model) => model.call(callId).alive && model.call(callId).recordedAge !== undefined,
    async (model, { rig, counter }) => {
      const outcome = model.settle(callId);
      expect(await outcomeOf(rig.quota.settle(counter, callId), 'settled')).to.equal(outcome);
      if (outcome === 'settled') return;
      rig.ledger.takeBack(callId);
      Object.assign(model.call(callId), { recordedAge: undefined, alive: false });
    },
  );

const release = (callId: string) =>
  new Step(
    `release(${callId})`,
    (model) => model.call(callId).alive && model.call(callId).recordedAge === undefined,
    async (model, { rig, counter }) => {
      await rig.quota.release(counter, callId);
      model.release(callId);
      model.call(callId).alive = false;
    },
  );

const die = (callId: string) =>
  new Step(
    `die(${callId})`,
    (model) => model.call(callId).alive,
    async (model) => {
      model.call(callId).alive = false;
    },
  );

const leasePasses = () =>
  new Step('leasePasses', always, async (model, { rig, counter }) => {
    await rig.age(counter, leaseMs);
    model.leasePasses();
  });

const sweep = () =>
  new Step('sweep', always, async (model, { rig }) => {
    expect(await rig.sweep()).to.include({ failed: 0 });
    model.sweep();
  });

const emptyRedis = () =>
  new Step('emptyRedis', always, async (model, { rig }) => {
    await rig.redis.flushall();
    model.empty();
  });

const forgetScripts = () =>
  new Step('forgetScripts', always, async (_model, { rig }) => {
    await rig.redis.script('FLUSH');
  });

const readUsage = () =>
  new Step('readUsage', always, async (model, { rig, counter }) => {
    model.restore();
    expect(await rig.quota.usage(counter)).to.deep.equal({ used: model.used, leased: model.leased });
  });

const callIds = fc.nat({ max: 6 }).map((number) => `call-${number}`);
const steps = [
  fc.tuple(callIds, fc.integer({ min: 1, max: 500 })).map(([callId, records]) => reserve(callId, records)),
  callIds.map(reserveTooLate),
  ...[record, settle, record, settle, release, die].map((step) => callIds.map(step)),
  ...[leasePasses, sweep, emptyRedis, forgetScripts, readUsage].map((step) =>
    fc.constant(undefined).map(step),
  ),
];

describe('quota against its model', () => {
  let rig: QuotaRig;

  before(async () => {
    rig = new QuotaRig((await freshDatabases()).redisUrl);
  });
  after(() => rig.close());

  it('agrees after every command, keeps below the stop, and ends up with what the ledger says', async function () {
    this.timeout(60_000);
    await fc.assert(
      fc.asyncProperty(fc.commands(steps, { maxCommands: 120, size: 'max' }), async (commands) => {
        const counter = freshCounter();
        const model = new QuotaModel();
        await rig.redis.flushall();
        rig.ledger.clear();
        await fc.asyncModelRun(() => ({ model, real: { rig, counter } }), commands);
        await rig.settleDown(counter);
        expect(await rig.quota.usage(counter)).to.deep.equal({ used: rig.ledger.sum(counter), leased: 0 });
        if (!model.excess) expect(rig.ledger.sum(counter)).to.be.at.most(modelStop);
      }),
      { numRuns: 80 },
    );
  });
});
