import { expect } from 'chai';
import type { ServiceProcess } from '../../../scripts/servers/service-process.js';
import { dayMs, dayNumber, dayText, minuteText, nextNightMs } from '../../../shared/contract/dates.js';
import type { StoredVerdict } from '../../../shared/store/validation/model-validation.js';
import { eventually } from '../../support/eventually.js';
import { httpCall } from '../../support/http/http-call.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { itInFull } from '../../support/tier.js';
import {
  figuresOf,
  gatewayOfThen,
  gradeAfter,
  leadsOf,
  scoreLeads,
  sendOutcomes,
  thenMs,
  type ValidationBody,
  validationOf,
} from './graded-leads.js';
import { flat, rising, stateCases } from './state-cases.js';

/** A verdict, a grade before its time, and a failure of data; `test/worker/grading` proves each gate. */
const ofFirstTier = new Set([
  'passed when every gate is cleared',
  'too_early_to_grade at matured_cohort before the horizon is over',
  'failed at cohort_reconciles when a stored row is missing',
]);

describe('validation states, from scores and outcomes to the verdict', () => {
  let service: RunningService;
  /** A gateway whose clock is 92 days behind. */
  let earlier: ServiceProcess;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
    earlier = await gatewayOfThen(service);
  });
  after(() => earlier?.stop());

  for (const { title, plan, options = {}, named, afterDays = 90.01, verdictDays, harm, expected } of stateCases) {
    (ofFirstTier.has(title) ? it : itInFull)(`returns ${title}`, async () => {
      const own = await workspace(service, options);
      const leads = leadsOf(plan);
      await scoreLeads(own, leads, earlier);
      await sendOutcomes(own, named === undefined ? leads : leads.slice(0, named));
      await harm?.(own);
      await gradeAfter(own, afterDays);

      const shown = await validationOf(own);
      const verdict = expected.state === 'too_early_to_grade' ? withTimes(expected, shown, verdictDays) : expected;
      expect(shown).to.include(verdict);
      expectGatesToAgree(shown);
      const { validation } = scored(await own.score([{ company_size: 100 }]));
      expect(validation).to.deep.equal(verdict);
    });
  }

  /** An early verdict with the times in its summary: of a possible verdict, of the grade, and of the next one. */
  function withTimes(
    verdict: Pick<ValidationBody, 'state' | 'failing_gate' | 'summary'>,
    { as_of = '' }: ValidationBody,
    verdictDays: number | undefined,
  ): typeof verdict {
    const possible =
      verdictDays === undefined
        ? ''
        : `; a verdict is possible from ${dayText(dayNumber(thenMs(service) + verdictDays * dayMs))}`;
    const next = minuteText(nextNightMs(service.clock.now()));
    const counted = `; data until ${minuteText(Date.parse(as_of))} counts, newer data from the grade after ${next}, or half an hour after new outcomes.`;
    return { ...verdict, summary: verdict.summary.replace(/\.$/, possible + counted) };
  }

  it('returns the same verdict from a webhook', async () => {
    const own = await workspace(service);
    await scoreLeads(own, leadsOf(rising), earlier);
    await sendOutcomes(own, leadsOf(rising));
    await gradeAfter(own, 91);
    const reply = await httpCall(`${service.url()}/v1/webhooks/score`, {
      secret: own.live.secret,
      body: { model_id: own.model._id, record: { company_size: 100 } },
    });
    const body = JSON.parse(reply.text);
    expect(body.validation).to.include({ state: 'passed', failing_gate: null });
    expect(body.validation_state).to.equal('passed');
    expect(body.validation_summary).to.equal(body.validation.summary);
  });

  it('returns not_applicable without gates for a timing model', async () => {
    const own = await workspace(service, { bundle: sampleBundle({ family: 'timing' }), policy: 'block' });
    await scoreLeads(own, leadsOf(flat), earlier);
    await sendOutcomes(own, leadsOf(flat));
    const shown = await validationOf(own);
    expect(shown).to.deep.equal({
      state: 'not_applicable',
      failing_gate: null,
      summary: 'Not applicable: timing models are not graded by the forward-cohort gates.',
    });
  });

  describe('under policy block', () => {
    it('returns 409 with the failing gate and the override command until the model passes', async () => {
      const own = await workspace(service, { policy: 'warn' });
      const leads = leadsOf(rising);
      await scoreLeads(own, leads, earlier);
      await sendOutcomes(own, leads);
      await own.change({ policy: 'block' });
      await gradeAfter(own, 30);
      const early = await eventually(async () => refused(await own.score([{ company_size: 1 }]), '409 deploy_blocked'));
      expect(early.error.message).to.include('matured_cohort').and.include('--override on --reason');
      await gradeAfter(own, 91);
      await eventually(async () => {
        scored(await own.score([{ company_size: 1 }]));
      });
    });

    it('returns 200 for a passed model that no grader has checked for 72 hours', async () => {
      const own = await workspace(service, { policy: 'warn' });
      await scoreLeads(own, leadsOf(rising), earlier);
      await sendOutcomes(own, leadsOf(rising));
      await gradeAfter(own, 91);
      await own.change({ policy: 'block' });
      const offset = service.clock.now() - Date.now();
      const later = await service.startGateway({ CLOCK_OFFSET_MS: String(offset + 3 * dayMs + 60_000) });
      try {
        const { validation } = scored(await own.score([{ company_size: 1 }], { url: later.url }));
        expect(validation).to.include({ state: 'passed', failing_gate: null });
        expect(validation.summary).to.include('no grade has followed');
      } finally {
        await later.stop();
      }
    });
  });

  it('fails a passed model only at a failing grade 20 hours after the first', async () => {
    const own = await workspace(service);
    await scoreLeads(own, leadsOf(rising), earlier);
    await sendOutcomes(own, leadsOf(rising));
    await gradeAfter(own, 91);
    await sendOutcomes(own, leadsOf(flat)); // corrections: the last outcome wins
    await gradeAfter(own, 91);
    const held = await validationOf(own);
    expect(held).to.include({ state: 'passed', failing_gate: null });
    expect(held.summary).to.match(/^Passed: .+ did not clear rate_rises_with_band, .+ would end the pass\.$/);
    await gradeAfter(own, 91);
    expect(await validationOf(own)).to.include({ state: 'passed', failing_gate: null });
    await doubtEarlier(own);
    await gradeAfter(own, 91);
    expect(await validationOf(own)).to.include({ state: 'failed', failing_gate: 'rate_rises_with_band' });
  });

  /** Moves the first failing grade back by 20 hours. */
  async function doubtEarlier({ model }: TestWorkspace): Promise<void> {
    const verdicts = service.stores.database.collection<StoredVerdict>('model_validation');
    const id = `${model._id}:${model.version}`;
    const since = (await verdicts.findOne({ _id: id }))?.grade?.doubted_since?.getTime() ?? 0;
    const earlier = new Date(since - 20 * 60 * 60 * 1000);
    await verdicts.updateOne({ _id: id }, { $set: { 'grade.doubted_since': earlier } });
  }

  it('passes a failed model again only with a fifth more conversions', async () => {
    const own = await workspace(service);
    await scoreLeads(own, leadsOf(flat), earlier);
    await sendOutcomes(own, leadsOf(flat));
    await gradeAfter(own, 91);
    expect(await validationOf(own)).to.include({ state: 'failed' });
    await sendOutcomes(own, leadsOf({ perBand: 50, conversions: [5, 20, 30, 40, 45] })); // 140, of 125 before
    await gradeAfter(own, 91);
    const held = await validationOf(own);
    expect(held).to.include({ state: 'failed', failing_gate: 'rate_rises_with_band' });
    expect(held.summary).to.include('25 more conversions').and.include('15 have come since');
    await sendOutcomes(own, leadsOf({ perBand: 50, conversions: [10, 20, 30, 42, 48] })); // 150
    await gradeAfter(own, 91);
    expect(await validationOf(own)).to.include({ state: 'passed', failing_gate: null });
  });

  it('reports the size of the cohort, and the number of leads excluded for each reason', async () => {
    const own = await workspace(service);
    const leads = leadsOf(rising);
    await sendOutcomes(own, [{ crmId: 'lead-0-0', band: 0, converts: true }], { afterDays: -1 }); // before it was scored
    await scoreLeads(own, leads, earlier);
    await scoreLeads(own, leads.slice(5, 12), earlier); // seven repeats
    scored(await own.score([{ company_size: 1 }, { company_size: 2 }], { url: earlier.url })); // without crm_id
    scored(await own.score([{ crm_id: 'tested', company_size: 1 }], { key: own.test, url: earlier.url })); // test keys do not count
    const erased = await httpCall(`${service.url()}/v1/scores/lead-4-49`, {
      method: 'DELETE',
      secret: own.live.secret,
    });
    expect(erased.status).to.equal(204);
    await sendOutcomes(own, leads.slice(1, -1));
    await gradeAfter(own, 91);
    const shown = await validationOf(own);
    expect(figuresOf(shown, 'cohort_reconciles')).to.deep.include({
      ledger_records: 259,
      stored_rows: 259,
      mismatched_requests: 0,
      cohort: 248,
      repeats: 7,
      without_crm_id: 2,
      excluded: 1,
      erased: 1,
      joined: 248,
      joined_share: 1,
    });
    expect(shown.bands?.map(({ scores, records, conversions }) => [scores, records, conversions])).to.deep.equal([
      ['0-19', 49, 4],
      ['20-39', 50, 15],
      ['40-59', 50, 25],
      ['60-79', 50, 35],
      ['80-100', 49, 45],
    ]);
  });

  it('removes an erased lead and its outcome from the next grade', async () => {
    const own = await workspace(service);
    await scoreLeads(own, leadsOf(rising), earlier);
    await sendOutcomes(own, leadsOf(rising));
    await gradeAfter(own, 91);
    await httpCall(`${service.url()}/v1/scores/lead-4-0`, { method: 'DELETE', secret: own.live.secret });
    await gradeAfter(own, 91);
    const figures = figuresOf(await validationOf(own), 'cohort_reconciles');
    expect(figures).to.deep.include({ cohort: 249, joined: 249, erased: 1, stored_rows: 250 });
    expect(await service.stores.database.collection('outcomes').countDocuments({ org: own.id })).to.equal(249);
  });
});

/** Asserts that all gates before the failing one are cleared, and that none after it is reached. */
function expectGatesToAgree({ state, failing_gate, gates = [], as_of, graded_at }: ValidationBody): void {
  expect(as_of).to.be.a('string');
  expect(graded_at).to.be.a('string');
  expect(gates).to.have.length(6);
  const stopped = gates.findIndex(({ gate }) => gate === failing_gate);
  const word = state === 'failed' ? 'failed' : 'too_early';
  expect(gates.map((gate) => gate.state)).to.deep.equal(
    gates.map((_, index) => {
      if (stopped === -1 || index < stopped) return 'cleared';
      return index === stopped ? word : 'not_reached';
    }),
  );
}
