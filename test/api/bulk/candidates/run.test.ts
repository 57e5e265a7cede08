import { expect } from 'chai';
import { dayMs } from '../../../../shared/contract/dates.js';
import { CandidateRunStore } from '../../../../shared/store/models/candidate-runs.js';
import { CandidateScoreStore } from '../../../../shared/store/models/candidate-scores.js';
import { eventually } from '../../../support/eventually.js';
import { crashingBundle } from '../../../support/faults/fault-models.js';
import { scored } from '../../../support/http/score-reply.js';
import { sampleBundle, sampleFeatures } from '../../../support/models/sample-bundle.js';
import { startTimeoutMs } from '../../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../../support/service/workspace.js';
import { isFullTier } from '../../../support/tier.js';
import { CandidateRig } from './candidate-rig.js';

const current = '1.0.0';
const next = '2.0.0';
/** A whole day, so that dates alone can be compared with it. */
const daysAgo = (days: number): number => Math.floor(Date.now() / dayMs) * dayMs - days * dayMs;
const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
const scoredMs = daysAgo(30);
const leadsFrom = (from: number, count: number) => Array.from({ length: count }, (_, row) => `L-${from + row}`);
const fields = (row: number) => [row % 400, row % 2 === 0, ['Webinar', 'Referral'][row % 2]];

describe('the run of a candidate', () => {
  let rig: CandidateRig;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(2 * startTimeoutMs);
    rig = await CandidateRig.start();
  });
  beforeEach(async () => {
    own = await workspace(rig.service);
    const weights = [0.02, 0.5, 0.1, 0.9, -0.1, -0.2];
    await rig.store(own, sampleBundle({ version: next, features: [...sampleFeatures], weights }));
    rig.aheadMs = 0;
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await rig?.stop();
  });

  const recordLeads = async (calls: number, perCall: number, { atMs = scoredMs, from = 0 } = {}) => {
    for (let call = 0; call < calls; call += 1)
      await rig.record(own, {
        ...{ atMs: atMs + call, version: current, fields },
        leads: leadsFrom(from + call * perCall, perCall),
      });
  };
  const dropRun = async () => {
    await rig.service.stores.models.update(own.model._id, {}, ['candidate']);
    await rig.follow();
  };

  it('has the same documents after it was killed at any step', async function () {
    this.timeout(120_000);
    await recordLeads(5, 1_000);
    const whole = await rig.run(own, next);
    expect(whole).to.include({ state: 'completed', rows: 5_000, total: 5_000 });
    const wanted = await rig.scores(own, next);
    expect(wanted).to.have.length(50);
    await dropRun();

    /** Dies before or after the call with this number, as if the process was killed there. */
    const runStore = CandidateRunStore.prototype;
    const holders = { setTotal: runStore, put: CandidateScoreStore.prototype, advance: runStore, end: runStore };
    type Step = 'scoreParts' | keyof typeof holders;
    const killedAt = async (name: Step, number: number, when: 'before' | 'after') => {
      const stopping = new AbortController();
      let calls = 0;
      const dying =
        <Sent extends readonly unknown[], Reply>(work: (...sent: Sent) => Promise<Reply>) =>
        async (...sent: Sent): Promise<Reply> => {
          calls += 1;
          const isDue = calls === number;
          if (isDue && when === 'before') stopping.abort(new Error('killed'));
          stopping.signal.throwIfAborted();
          const reply = await work(...sent);
          if (isDue) stopping.abort(new Error('killed'));
          stopping.signal.throwIfAborted();
          return reply;
        };
      const { dispatcher } = rig;
      if (name === 'scoreParts') {
        const scoreParts = dying((...sent: Parameters<typeof dispatcher.scoreParts>) => dispatcher.scoreParts(...sent));
        await rig.turns({ dispatcher: { scoreParts }, stopping: stopping.signal }).take(own.model._id);
      } else {
        const holder = holders[name];
        const work = Reflect.get(holder, name) as (...sent: unknown[]) => Promise<unknown>;
        const patched = async function (this: unknown, ...sent: unknown[]) {
          return await dying((...given: unknown[]) => work.apply(this, given))(...sent);
        };
        Reflect.set(holder, name, patched);
        try {
          await rig.turns({ stopping: stopping.signal }).take(own.model._id);
        } finally {
          Reflect.set(holder, name, work);
        }
      }
      expect(stopping.signal.aborted, `${name} ${number} ${when}`).to.equal(true);
    };

    const firstOfAll = [
      ['setTotal', 1],
      ['scoreParts', 1],
      ['put', 1],
      ['advance', 1],
      ['end', 1],
    ] as const;
    const later = [
      ['scoreParts', 4],
      ['put', 2],
      ['advance', 2],
    ] as const;
    for (const [name, number] of isFullTier() ? [...firstOfAll, ...later] : firstOfAll)
      for (const when of ['before', 'after'] as const) {
        await rig.propose(own, next);
        await rig.follow();
        await killedAt(name, number, when);
        await rig.turns().take(own.model._id);
        const run = await rig.runOf(own, next);
        const title = `${name} ${number} ${when}`;
        expect(run, title).to.include({ state: 'completed', rows: 5_000, total: 5_000, refused: 0, seen: 0 });
        expect(await rig.scores(own, next), title).to.deep.equal(wanted);
        await dropRun();
      }
  });

  it('takes the first prediction of each lead within 365 days, and none that may still be voided', async function () {
    this.timeout(60_000);
    const nowMs = rig.service.clock.now();
    const call = (atMs: number, leads: readonly (string | null)[]) =>
      rig.record(own, { atMs, version: current, leads, fields });
    await call(nowMs - 366 * dayMs, ['old']);
    await call(nowMs - 364 * dayMs, ['old', 'A', null, 'B', 'A']);
    await call(nowMs - 100 * dayMs, ['B', 'C']);
    await call(nowMs - 60_000, ['D']);
    const run = await rig.run(own, next);
    expect(run).to.include({ state: 'completed', rows: 3, total: 3 });
    expect((await rig.scores(own, next)).map(({ crm_ids: crmIds }) => crmIds)).to.deep.equal([['A', 'B'], ['C']]);
  });

  it('marks leads that the candidate may have been trained on', async function () {
    this.timeout(60_000);
    const trained = {
      trained_at: new Date(daysAgo(20)).toISOString(),
      validation: { data_until: dateOf(daysAgo(60)) },
    };
    await rig.store(own, sampleBundle({ version: 'until', manifest: trained }));
    await rig.store(own, sampleBundle({ version: 'trained', manifest: { ...trained, validation: {} } }));
    for (const [lead, atMs] of [
      ['trained', daysAgo(59) - 1],
      ['held out', daysAgo(59)],
      ['later', daysAgo(20) + 1],
    ] as const)
      await rig.record(own, { atMs, version: current, leads: [lead], fields });
    const seenOf = async (version: string) =>
      (await rig.scores(own, version)).filter(({ seen }) => seen).flatMap(({ crm_ids: crmIds }) => crmIds);
    expect(await rig.run(own, 'until')).to.include({ rows: 3, seen: 1 });
    expect(await seenOf('until')).to.deep.equal(['trained']);
    await dropRun();
    expect(await rig.run(own, 'trained')).to.include({ rows: 3, seen: 2 });
    expect(await seenOf('trained'), 'without data_until').to.deep.equal(['trained', 'held out']);
  });

  it('fails with a sentence if the candidate reads no field that was recorded', async function () {
    this.timeout(60_000);
    const feature = { field: 'a_new_field', label: 'A new field', type: 'number', columns: [0], impute: 0 } as const;
    await rig.store(own, sampleBundle({ version: 'new', features: [feature], weights: [1] }));
    await recordLeads(1, 20);
    const run = await rig.run(own, 'new');
    expect(run).to.include({ state: 'failed', rows: 0 });
    expect(run.message).to.match(/^Version "new" reads no field that is recorded with the leads of this model\./);
    expect(await rig.scores(own, 'new')).to.deep.equal([]);
    expect(await rig.follow(), 'it is not tried again').to.deep.equal([]);
  });

  it('fails if the candidate refuses more than 0.1 % of the leads, and goes on below', async function () {
    this.timeout(60_000);
    const [size, ...others] = sampleFeatures;
    const strict = sampleBundle({ version: 'strict', features: [{ ...size, required: true } as never, ...others] });
    await rig.store(own, strict);
    const withGap = (row: number) => (row === 7 ? [null, true, 'Webinar'] : fields(row));
    await rig.record(own, { atMs: scoredMs, version: current, leads: leadsFrom(0, 999), fields: withGap });
    const failed = await rig.run(own, 'strict');
    expect(failed).to.include({ state: 'failed' });
    expect(failed.message).to.include('cannot score 1 of 999 leads, more than 0.1 %').and.to.include('"company_size"');
    await dropRun();
    await recordLeads(1, 1, { from: 5_000, atMs: scoredMs + 1_000 });
    expect(await rig.run(own, 'strict')).to.include({ state: 'completed', rows: 999, refused: 1, total: 1_000 });
    const found = await rig.scores(own, 'strict');
    expect(found.flatMap(({ crm_ids: crmIds }) => crmIds))
      .to.have.length(999)
      .and.to.not.include('L-7');
  });

  it('waits behind bulk jobs, and stops when its candidate is dropped', async function () {
    this.timeout(60_000);
    await recordLeads(1, 50);
    await rig.propose(own, next);
    await rig.follow();
    let jobs = 1;
    let asked = 0;
    const countInState = async () => {
      asked += 1;
      return jobs;
    };
    const taken = rig.turns({ jobs: { countInState } }).take(own.model._id);
    await eventually(() => expect(asked).to.be.above(1));
    expect(await rig.runOf(own, next))
      .to.include({ state: 'running', rows: 0 })
      .and.to.not.have.property('total');
    await dropRun();
    jobs = 0;
    expect(await taken).to.equal(false);
    expect(await rig.runOf(own, next)).to.include({ state: 'dropped' });
    expect(await rig.scores(own, next)).to.deep.equal([]);
  });

  it('fails if the candidate crashes workers, and the current version goes on', async function () {
    this.timeout(120_000);
    await rig.store(own, crashingBundle('crashing'));
    await recordLeads(2, 100);
    const run = await rig.run(own, 'crashing');
    expect(run).to.include({ state: 'failed', rows: 0 });
    expect(run.message).to.match(/^Version "crashing" cannot be loaded, or it crashed or hung its workers\./);
    const { scores } = scored(await own.score([{ company_size: 5, crm_id: 'X' }]));
    expect(scores).to.have.length(1);
    await dropRun();
    expect(await rig.run(own, next), 'with bulk workers of the same pool').to.include({
      state: 'completed',
      rows: 200,
    });
  });
});
