import { expect } from 'chai';
import { dayMs } from '../../../../shared/contract/dates.js';
import { eraseLead, erasingStores } from '../../../../shared/store/calls/erasures.js';
import { positionOf } from '../../../../shared/store/calls/prediction-segment.js';
import type { CandidateSegment } from '../../../../shared/store/models/candidate-scores.js';
import { ValidationStore } from '../../../../shared/store/validation/model-validation.js';
import { eventually } from '../../../support/eventually.js';
import { sampleBundle, sampleFeatures } from '../../../support/models/sample-bundle.js';
import { startTimeoutMs } from '../../../support/service/service.js';
import { type SentRecord, type TestWorkspace, workspace } from '../../../support/service/workspace.js';
import { CandidateRig } from './candidate-rig.js';

/** A date is read as the days before the call. */
const created = { field: 'created', label: 'Created', type: 'date', columns: [6], impute: 0 } as const;
const first = sampleBundle({ version: '1.0.0', features: [...sampleFeatures, created] });
const second = sampleBundle({
  version: '2.0.0',
  features: [created, ...sampleFeatures].map((feature) => ({ ...feature })),
  weights: [0.003, -0.4, 0.5, 0.1, 0.7, -0.3, 0.0007],
});

const record = (lead: number): SentRecord => ({
  crm_id: `L-${lead}`,
  company_size: (lead * 37) % 300,
  demo_requested: lead % 3 === 0,
  lead_source: ['Webinar', 'Referral', 'Fair'][lead % 3],
  created: new Date(Date.UTC(2026, lead % 12, 1 + (lead % 28))).toISOString(),
});
const some = (count: number, from: number, of = record) => Array.from({ length: count }, (_, row) => of(from + row));
/** Names the lead and one field: the others come from its latest prediction. */
const partial = (lead: number): SentRecord => ({ crm_id: `L-${lead}`, company_size: lead % 100 });

interface Answer {
  readonly score: number;
  readonly likelihood: number;
}

/** The scores of a candidate and of the base, by lead. */
function byLead(segments: readonly CandidateSegment[]) {
  const rows = segments.flatMap((segment) =>
    segment.crm_ids.map((crmId, row) => ({
      crmId,
      segmentId: segment._id.slice(0, -segment.version.length - 1),
      own: { score: segment.scores[row], likelihood: segment.likelihoods[row] },
      base: { score: segment.base_scores[row], likelihood: segment.base_likelihoods[row] },
    })),
  );
  expect(new Set(rows.map(({ crmId }) => crmId)).size, 'each lead once').to.equal(rows.length);
  return new Map(rows.map((row) => [row.crmId, row]));
}

describe('the scores of a candidate', () => {
  let rig: CandidateRig;
  let own: TestWorkspace;
  let other: TestWorkspace;
  /** The first prediction of each lead. */
  let firsts: ReadonlyMap<string, Answer & { readonly version: string; readonly segmentId: string }>;

  before(async function () {
    this.timeout(2 * startTimeoutMs);
    rig = await CandidateRig.start();
    [own, other] = [await workspace(rig.service, { bundle: first }), await workspace(rig.service, { bundle: first })];
    await other.score(some(30, 0));
    await own.score(some(120, 0));
    await own.score([...some(60, 90, partial), { company_size: 5 }, { demo_requested: true, crm_id: 'only' }]);
    for (const lead of [200, 201, 3]) await own.score([record(lead)]);
    await own.addVersion(second);
    await eventually(async () => {
      expect(JSON.parse((await own.score([record(202)])).text).model_version).to.equal('2.0.0');
    }, 20_000);
    await own.score([...some(40, 100), ...some(80, 300)]);
    for (const lead of [400, 401, 0]) await own.score([partial(lead)]);
    firsts = new Map(
      (await own.predictions()).reverse().flatMap(({ _id, crm_id: crmId, score, likelihood, version }) => {
        const { segmentId } = positionOf(_id);
        return typeof crmId === 'string' ? [[crmId, { score, likelihood, version, segmentId }] as const] : [];
      }),
    );
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await rig?.stop();
  });

  for (const version of ['1.0.0', '2.0.0'])
    it(`are those that version ${version} gave as the current one, bit for bit`, async function () {
      this.timeout(60_000);
      const counted = [await own.ledgerRows(), await own.redisUsage(), await own.predictions()];
      const run = await rig.run(own, version);
      expect(run).to.include({ state: 'completed', base: '2.0.0', rows: firsts.size, total: firsts.size, refused: 0 });
      expect([await own.ledgerRows(), await own.redisUsage(), await own.predictions()]).to.deep.equal(counted);
      const found = byLead(await rig.scores(own, version));
      expect([...found.keys()]).to.have.members([...firsts.keys()]);
      for (const [crmId, { score, likelihood, version: recorded, segmentId }] of firsts) {
        const lead = found.get(crmId);
        expect(lead?.segmentId, crmId).to.equal(segmentId);
        if (recorded === version) expect(lead?.own, crmId).to.deep.equal({ score, likelihood });
        if (recorded === '2.0.0') expect(lead?.base, crmId).to.deep.equal({ score, likelihood });
        if (version === '2.0.0') expect(lead?.base, crmId).to.deep.equal(lead?.own);
      }
      expect(new Set([...firsts.values()].map(({ version: each }) => each)).size, 'versions').to.equal(2);
      expect(await rig.scores(other, version), 'of another organisation').to.deep.equal([]);
      const compared = await eventually(async () => {
        const { comparison } = await rig.runOf(own, version);
        if (comparison === undefined) throw new Error('not compared yet');
        return comparison;
      }, 20_000);
      expect(compared).to.include({ base: '2.0.0', scored: firsts.size, leads: 0, verdict: 'too_early' });
      if (version === '2.0.0') expect(compared).to.include({ moved: 0 });
      const verdict = await new ValidationStore(rig.service.stores.database).find(`${own.model._id}:1.0.0`, 5_000);
      const recorded = verdict?.grade?.gates[0]?.figures;
      if (version === '1.0.0') expect(recorded, 'the grade of the candidate').to.include({ cohort: firsts.size });
      await rig.service.stores.models.update(own.model._id, {}, ['candidate']);
      await rig.follow();
      expect(await rig.scores(own, version), 'once dropped').to.deep.equal([]);
      expect(await rig.runOf(own, version)).to.include({ state: 'dropped' });
      rig.aheadMs += dayMs;
      await rig.follow();
      expect(await rig.runs.find(own.model._id, version)).to.equal(undefined);
      rig.aheadMs -= dayMs;
    });

  it('change their base when another version scores calls', async function () {
    this.timeout(60_000);
    const before = await rig.run(other, '1.0.0');
    expect(before).to.include({ state: 'completed', base: '1.0.0', rows: 30 });
    await rig.store(other, second);
    await rig.service.stores.models.update(other.model._id, { version: '2.0.0' });
    expect(await rig.follow()).to.deep.equal([other.model._id]);
    await rig.turns().take(other.model._id);
    expect(await rig.runOf(other, '1.0.0')).to.include({ state: 'completed', base: '2.0.0', rows: 30, total: 30 });
    const [scores] = await rig.scores(other, '1.0.0');
    expect(scores?.scores).to.have.length(30);
    expect(scores?.base_scores).to.have.length(30).and.to.not.deep.equal(scores?.scores);
    await rig.service.stores.models.update(other.model._id, {}, ['candidate']);
    await rig.follow();
  });

  it('lose a lead that is erased before, while, or after it is scored', async function () {
    this.timeout(60_000);
    const stores = erasingStores(rig.service.stores.database);
    const erase = (crmId: string) => eraseLead(stores, { organisationId: own.id, crmId });
    await erase('L-1');
    await rig.propose(own, '1.0.0');
    await rig.follow();
    const { dispatcher } = rig;
    const scoreParts: typeof dispatcher.scoreParts = async (...sent) => {
      const replies = await dispatcher.scoreParts(...sent);
      await erase('L-2');
      return replies;
    };
    await rig.turns({ dispatcher: { scoreParts } }).take(own.model._id);
    expect(await rig.runOf(own, '1.0.0')).to.include({ state: 'completed' });
    await erase('L-300');
    const segments = await rig.scores(own, '1.0.0');
    const found = byLead(segments);
    expect([...found.keys()]).to.have.members([...firsts.keys()].filter((id) => !['L-1', 'L-2', 'L-300'].includes(id)));
    for (const { crm_ids: crmIds, scores, likelihoods, base_scores: base, base_likelihoods: odds, records } of segments)
      for (const column of [crmIds, scores, likelihoods, base, odds]) expect(column).to.have.length(records);
    for (const [crmId, { own: answer }] of found) {
      const { score, likelihood, version } = firsts.get(crmId) ?? {};
      if (version === '1.0.0') expect(answer, crmId).to.deep.equal({ score, likelihood });
    }
  });
});
