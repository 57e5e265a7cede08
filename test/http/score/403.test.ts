import { expect } from 'chai';
import { onEachGateway } from '../../support/http/http-call.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../support/service/service.js';
import { workspace } from '../../support/service/workspace.js';

const lead = { company_size: 120 };

describe('403 of POST /v1/score', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedService('twoGateways');
  });

  it('returns 403 for both keys while the Live API of the model is off, and names the command', async () => {
    const own = await workspace(service);
    const off = await own.addModel({ liveApi: false });
    for (const key of [own.live, own.test]) {
      const reply = await own.score([lead], { key, modelId: off._id });
      expect(refused(reply, '403 api_disabled').error.message)
        .to.include('Live API is off')
        .and.include(`"leadscore model set ${off._id} --live-api on"`);
    }
  });

  it('returns 403 on both gateways within 2 s of switching the Live API off, and 200 after on', async () => {
    const own = await workspace(service);
    for (const gateway of [0, 1]) scored(await own.score([lead], { gateway }));
    await own.changeModel(own.model._id, { live_api: false });
    await onEachGateway(async (gateway) => refused(await own.score([lead], { gateway }), '403 api_disabled'));
    await own.changeModel(own.model._id, { live_api: true });
    await onEachGateway(async (gateway) => scored(await own.score([lead], { gateway })));
  });
});
