import { expect } from 'chai';
import { notYetGraded } from '../../../shared/contract/verdict.js';
import { eventually } from '../../support/eventually.js';
import { onEachGateway } from '../../support/http/http-call.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../support/service/service.js';
import { workspace } from '../../support/service/workspace.js';
import { failed, passed, tooEarly, unresolved } from '../validation/verdicts.js';

const lead = { company_size: 120 };
const hourMs = 60 * 60 * 1000;

describe('409 of POST /v1/score', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedService('twoGateways');
  });

  for (const verdict of [failed, tooEarly, unresolved]) {
    it(`returns 409 with the verdict for both keys under policy block: ${verdict.state}`, async () => {
      const own = await workspace(service, { policy: 'block', verdict });
      for (const key of [own.live, own.test]) {
        const reply = await own.score([lead], { key });
        const { error, validation, ...rest } = refused(reply, '409 deploy_blocked');
        expect(validation).to.deep.equal(verdict);
        expect(rest).to.deep.equal({});
        expect(error.message).to.include(verdict.failing_gate ?? verdict.state);
        expect(error.message).to.include(`leadscore model set ${own.model._id} --override on --reason`);
        expect(reply.headers.get('retry-after')).to.equal(null);
      }
    });
  }

  it('returns 409 for an ungraded model, and scores with a passed verdict of 100 hours ago that says its date', async () => {
    const ungraded = await workspace(service, { policy: 'block' });
    const { validation, error } = refused(await ungraded.score([lead]), '409 deploy_blocked');
    expect(validation).to.include({ state: 'too_early_to_grade', failing_gate: 'predictions_recorded' });
    expect(error.message).to.match(
      /predictions_recorded\. It clears .*refused calls record none.* must lift the refusal with "leadscore /,
    );
    const graded_at = new Date(service.clock.now() - 100 * hourMs);
    const stale = await workspace(service, { policy: 'block', verdict: { ...passed, graded_at } });
    const kept = scored(await stale.score([lead])).validation;
    const since = `this verdict is of ${graded_at.toISOString().slice(0, 10)}, and no grade has followed.`;
    expect(kept).to.deep.equal({ ...passed, summary: `${passed.summary.slice(0, -1)}; ${since}` });
  });

  it('returns 409 on both gateways within 2 s of changing the policy to block', async () => {
    const own = await workspace(service);
    for (const gateway of [0, 1]) scored(await own.score([lead], { gateway }));
    await own.change({ policy: 'block' });
    await onEachGateway(async (gateway) => refused(await own.score([lead], { gateway }), '409 deploy_blocked'));
  });

  it('returns 409 again after the override is removed', async () => {
    const own = await workspace(service, { policy: 'block', verdict: failed });
    const override = { version: own.model.version, by: 'ada', at: new Date(service.clock.now()), reason: 'a pilot' };
    await service.stores.models.update(own.model._id, { override });
    scored(await own.score([lead], { gateway: 0 }));
    await service.stores.models.update(own.model._id, {}, ['override']);
    await own.changeModel(own.model._id, {});
    await eventually(async () => {
      refused(await own.score([lead], { gateway: 0 }), '409 deploy_blocked');
    });
  });

  it('returns 409 for a version that was imported after the override, in a summary of that version alone', async () => {
    const own = await workspace(service, { policy: 'block', verdict: failed });
    const { version, _id: modelId } = own.model;
    const override = { version, by: 'ada', at: new Date(service.clock.now()), reason: 'a pilot' };
    await own.changeModel(modelId, { override });
    await eventually(async () => scored(await own.score([lead])));
    await own.addVersion(sampleBundle({ version: '9.9.9' }));
    await onEachGateway(async (gateway) => {
      const { validation } = refused(await own.score([lead], { gateway }), '409 deploy_blocked');
      expect(validation).to.deep.equal(notYetGraded);
    });
    await own.changeModel(modelId, { version });
    await onEachGateway(async (gateway) => {
      const { validation } = scored(await own.score([lead], { gateway }));
      expect(validation.summary).to.include('overridden by ada');
    });
  });
});
