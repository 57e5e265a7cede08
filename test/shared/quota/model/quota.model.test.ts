import { expect } from 'chai';
import fc from 'fast-check';
import { QuotaError } from '../../../../shared/quota/commands.js';
import { redisNowMs } from '../../../../shared/redis/connect.js';
import { type UsageCounter, usageKey } from '../../../../shared/redis/keys.js';
import { freshDatabases } from '../../../support/service/servers.js';
import { runsOfTier } from '../../../support/tier.js';
import { expectTurns, mixedScripts } from '../../../upgrade/mixed-scripts.js';
import { modelStop, QuotaModel } from '../rig/quota-model.js';
import { freshCounter, leaseMs, QuotaRig } from '../rig/quota-rig.js';

interface Real {
  readonly rig: QuotaRig;
  readonly counter: UsageCounter;
}

/** One step of the model and of the real quota. Both must agree afterwards. */
class Step implements fc.AsyncCommand<QuotaModel, Real> {
  constructor(
    readonly name: string,
    readonly may: (model: QuotaModel) => boolean,
    readonly take: (model: QuotaModel, real: Real) => Promise<void>,
  ) {}

  check(model: QuotaModel): boolean {
    return this.may(model);
  }

  async run(model: QuotaModel, real: Real): Promise<void> {
    await this.take(model, real);
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

/** The outcome of a quota method, in the words of the model. */
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
      await releaseLate(callId, model, { rig, counter });
    },
  );

/** A late command may be the second of two, so the records that the first holds are released. */
async function releaseLate(callId: string, model: QuotaModel, { rig, counter }: Real): Promise<void> {
  await rig.quota.release(counter, callId); // after the release that the quota itself sends
  model.release(callId);
  model.call(callId).alive = false;
}

/** One of several calls sent in the same iteration. */
interface AtOnce {
  readonly callId: string;
  readonly records: number;
  /** Whether its deadline has passed. */
  readonly late: boolean;
  /** Whether a call with the same id and size is sent too, on a new counter. */
  readonly elsewhere: boolean;
}

/** Reserves in one iteration. Late calls have ids of their own: a late call releases the records of its id. */
const reserveTogether = (sent: readonly AtOnce[]) => {
  const inTime = new Set(sent.flatMap(({ callId, late }) => (late ? [] : [callId])));
  const distinct = sent.filter(({ callId, late }) => !late || !inTime.has(callId));
  const may = (model: QuotaModel, { callId }: AtOnce) => model.call(callId).recordedAge === undefined;
  const names = distinct.map(({ callId, records, late }) => `${callId} ${late ? 'late' : records}`);
  return new Step(
    `reserveTogether(${names.join(', ')})`,
    (model) => distinct.some((call) => may(model, call)),
    async (model, { rig, counter }) => {
      const calls = distinct.filter((call) => may(model, call));
      const nowMs = await redisNowMs(rig.redis);
      const other = freshCounter();
      const outcomes = await Promise.all(
        calls.map(({ callId, records, late, elsewhere }) => {
          const call = { callId, records, deadlineRedisMs: nowMs + (late ? -1 : 10_000) };
          const outcome = outcomeOf(rig.quota.reserve({ ...call, counter, stop: modelStop }), 'held');
          const beside = elsewhere && outcomeOf(rig.quota.reserve({ ...call, counter: other, stop: 0 }), 'held');
          return Promise.all([outcome, beside]);
        }),
      );
      for (const [index, { callId, records, late }] of calls.entries()) {
        const [outcome, beside] = outcomes[index] ?? [];
        expect(outcome).to.equal(late ? 'QuotaTooLate' : model.reserve(callId, records));
        if (beside) expect(beside).to.equal(late ? 'QuotaTooLate' : 'would cross the stop');
      }
      for (const { callId, late } of calls) if (late) await releaseLate(callId, model, { rig, counter });
    },
  );
};

/** Settles the calls that have a row, in one iteration. */
const settleTogether = (ids: readonly string[]) => {
  const may = (model: QuotaModel) => (callId: string) => {
    const { alive, recordedAge } = model.call(callId);
    return alive && recordedAge !== undefined;
  };
  return new Step(
    `settleTogether(${ids.join(', ')})`,
    (model) => ids.some(may(model)),
    async (model, { rig, counter }) => {
      const calls = ids.filter(may(model));
      const outcomes = await Promise.all(
        calls.map((callId) => outcomeOf(rig.quota.settle(counter, callId), 'settled')),
      );
      expect(outcomes).to.deep.equal(calls.map((callId) => model.settle(callId)));
      for (const [index, callId] of calls.entries()) if (outcomes[index] !== 'settled') voidCall(callId, model, rig);
    },
  );
};

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
      if (outcome !== 'settled') voidCall(callId, model, rig);
    },
  );

function voidCall(callId: string, model: QuotaModel, { ledger }: QuotaRig): void {
  ledger.voidCall(callId);
  Object.assign(model.call(callId), { recordedAge: undefined, alive: false });
}

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
    await rig.redis.flushdb();
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
const atOnce = fc.record<AtOnce>({
  callId: callIds,
  records: fc.integer({ min: 1, max: 500 }),
  late: fc.nat({ max: 5 }).map((dice) => dice === 0),
  elsewhere: fc.boolean(),
});
const steps = [
  fc.tuple(callIds, fc.integer({ min: 1, max: 500 })).map(([callId, records]) => reserve(callId, records)),
  callIds.map(reserveTooLate),
  ...[reserveTogether, reserveTogether].map((step) => fc.array(atOnce, { minLength: 2, maxLength: 10 }).map(step)),
  fc.array(callIds, { minLength: 2, maxLength: 10 }).map(settleTogether),
  ...[record, settle, record, settle, release, die].map((step) => callIds.map(step)),
  ...[leasePasses, sweep, emptyRedis, forgetScripts, readUsage].map((step) => fc.constant(undefined).map(step)),
];

describe('Quota against its model', () => {
  let rig: QuotaRig;

  afterEach(() => rig.close());

  async function agrees(numRuns: number): Promise<void> {
    await fc.assert(
      fc.asyncProperty(fc.commands(steps, { maxCommands: 120, size: 'max' }), async (commands) => {
        const counter = freshCounter();
        const model = new QuotaModel();
        await rig.redis.flushdb();
        rig.ledger.clear();
        await fc.asyncModelRun(() => ({ model, real: { rig, counter } }), commands);
        await rig.settleDown(counter);
        model.settleDown();
        expect(await rig.quota.usage(counter)).to.deep.equal({ used: rig.ledger.sum(counter), leased: 0 });
        if (!model.excess) expect(rig.ledger.sum(counter)).to.be.at.most(modelStop);
      }),
      { numRuns },
    );
  }

  it('agrees after every command, never exceeds the stop, and ends with the sum of the ledger', async function () {
    this.timeout(60_000);
    rig = new QuotaRig((await freshDatabases()).redisUrl);
    await agrees(runsOfTier(40, 80));
  });

  it('agrees as well while every second script is that of the last release', async function () {
    this.timeout(60_000);
    const { redisUrl } = await freshDatabases();
    const { redis, runs } = await mixedScripts(redisUrl);
    rig = new QuotaRig(redisUrl, { redis });
    await agrees(runsOfTier(10, 80));
    await expectTurns(runs, 'shared/quota/');
  });
});
