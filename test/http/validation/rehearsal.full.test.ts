import { expect } from 'chai';
import type { ServiceProcess } from '../../../scripts/servers/service-process.js';
import { dayMs } from '../../../shared/contract/dates.js';
import { gradeAndPublish } from '../../../worker/grading/job/grade-models.js';
import { eventually } from '../../support/eventually.js';
import { refused, scored } from '../../support/http/score-reply.js';
import type { RunningService } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { gatewayOfThen, gradeAfter, leadsOf, scoreLeads, sendOutcomes, validationOf } from './graded-leads.js';
import { rising } from './state-cases.js';

const one = [{ company_size: 1 }];

describe('grades as of a future instant', () => {
  let service: RunningService;
  let own: TestWorkspace;

  /** Leads that are scored now, with outcomes in the future. */
  onOwnWorkspace(async (fresh, running) => {
    [own, service] = [fresh, running];
    await scoreLeads(own, leadsOf(rising), { url: service.url() });
    await sendOutcomes(own, leadsOf(rising), { afterDays: 92 + 30 });
  }, 'twoGateways');

  it('neither shows a rehearsed grade to callers nor unblocks the model', async () => {
    await gradeAfter(own, 92);
    const ofNow = await validationOf(own);
    expect(ofNow).to.include({ state: 'too_early_to_grade', failing_gate: 'matured_cohort' });
    await own.change({ policy: 'block' });
    await eventually(async () => refused(await own.score(one), '409 deploy_blocked'));

    await gradeAfter(own, 92 + 91);
    for (const gateway of [0, 1]) refused(await own.score(one, { gateway }), '409 deploy_blocked');
    expect(await validationOf(own)).to.deep.equal(ofNow);
    // A gateway with empty caches does not return it either.
    const fresh = await service.startGateway();
    try {
      const { error } = refused(await own.score(one, { url: fresh.url }), '409 deploy_blocked');
      expect(error.message).to.include('matured_cohort');
    } finally {
      await fresh.stop();
    }
  });

  it('returns unresolved for a verdict with a future graded_at until that instant', async () => {
    const { stores, clock, redis } = service;
    const aheadMs = 91 * dayMs;
    const deps = { database: stores.database, clock: { now: () => clock.now() + aheadMs }, redis };
    await gradeAndPublish(deps, { model: own.model, version: own.model.version });
    const nothing = { state: 'unresolved', failing_gate: null };
    await eventually(async () => expect(scored(await own.score(one)).validation).to.include(nothing));
    await own.change({ policy: 'block' });
    await eventually(async () => refused(await own.score(one), '409 deploy_blocked'));

    const offsetMs = Math.round(clock.now() - Date.now() + aheadMs + 1000);
    const later: ServiceProcess = await service.startGateway({ CLOCK_OFFSET_MS: String(offsetMs) });
    try {
      const reply = await own.score(one, { url: later.url });
      expect(scored(reply).validation).to.include({ state: 'passed' });
    } finally {
      await later.stop();
    }
  });

  it('passes a model as of now when the horizon of its leads is over', async () => {
    const earlier = await gatewayOfThen(service);
    const matured = await workspace(service);
    await scoreLeads(matured, leadsOf(rising), earlier).finally(() => earlier.stop());
    await sendOutcomes(matured, leadsOf(rising));
    await matured.change({ policy: 'block' });
    await gradeAfter(matured, 91);
    await eventually(async () => {
      expect(scored(await matured.score(one)).validation).to.include({ state: 'passed' });
    });
  });
});
