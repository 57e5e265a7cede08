import { expect } from 'chai';
import type { ServiceProcess } from '../../../scripts/servers/service-process.js';
import { dayMs } from '../../../shared/contract/dates.js';
import { gradeAndPublish } from '../../../worker/grading/job/grade-models.js';
import { eventually } from '../../support/eventually.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';
import {
  gatewayOfThen,
  gradeAfter,
  leadsOf,
  scoreLeads,
  sendOutcomes,
  validationOf,
} from './graded-leads.js';
import { rising } from './state-cases.js';

const one = [{ company_size: 1 }];

describe('a grade as of an instant that has not come yet', () => {
  let service: RunningService;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });

  /** Leads that are scored now, whose outcomes are known already. */
  beforeEach(async () => {
    own = await workspace(service);
    await scoreLeads(own, leadsOf(rising), { url: service.url() });
    await sendOutcomes(own, leadsOf(rising), { afterDays: 92 + 30 });
  });

  it('is told to no caller, and lets no blocked model score', async () => {
    await gradeAfter(own, 92);
    const ofNow = await validationOf(own);
    expect(ofNow).to.include({ state: 'too_early_to_grade', failing_gate: 'matured_cohort' });
    await own.change({ policy: 'block' });
    await eventually(async () => refused(await own.score(one), '409 deploy_blocked'));

    await gradeAfter(own, 92 + 91);
    for (const gateway of [0, 1]) refused(await own.score(one, { gateway }), '409 deploy_blocked');
    expect(await validationOf(own)).to.deep.equal(ofNow);
    // Not even a gateway that remembers nothing knows of it.
    const fresh = await service.startGateway();
    try {
      const { error } = refused(await own.score(one, { url: fresh.url }), '409 deploy_blocked');
      expect(error.message).to.include('matured_cohort');
    } finally {
      await fresh.stop();
    }
  });

  it('that a process with a clock moved on has stored claims nothing before its time', async () => {
    const { stores, clock, redis } = service;
    const aheadMs = 91 * dayMs;
    const rooms = { database: stores.database, clock: { now: () => clock.now() + aheadMs }, redis };
    await gradeAndPublish(rooms, { model: own.model, version: own.model.version });
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

  it('is not needed: leads of which the horizon is over pass as of now', async () => {
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
