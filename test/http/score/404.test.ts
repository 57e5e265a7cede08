import { expect } from 'chai';
import { newId } from '../../../shared/contract/identifiers.js';
import { onEachGateway } from '../../support/http/http-call.js';
import { refused, scored } from '../../support/http/score-reply.js';
import type { RunningService } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { unknownScoreModels } from '../bad-inputs/addresses.js';
import { describeBadInputs } from '../bad-inputs/bad-input.js';

const lead = { company_size: 120 };

describeBadInputs('404 of POST /v1/score', unknownScoreModels);

describe('404 of POST /v1/score: models', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  }, 'twoGateways');

  it('returns 404 for a model_id that does not exist, in any form', async () => {
    for (const modelId of [newId('mdl'), 'mdl_', 'x', 'mdl_../x', `${own.model._id} `, own.model._id.toUpperCase()])
      refused(await own.score([lead], { modelId }), '404 model_not_found');
  });

  it('returns the same 404 body for a model of another organisation as for an unknown model', async () => {
    const other = await workspace(service);
    const foreign = await own.score([lead], { modelId: other.model._id, gateway: 0 });
    const unknown = await own.score([lead], { modelId: newId('mdl'), gateway: 0 });
    expect(foreign.text).to.equal(unknown.text);
    refused(foreign, '404 model_not_found');
  });

  it('returns 404 on both gateways within 2 s of deleting the model', async () => {
    for (const gateway of [0, 1]) scored(await own.score([lead], { gateway }));
    await own.changeModel(own.model._id, { deleted_at: new Date(service.clock.now()) });
    await onEachGateway(async (gateway) => refused(await own.score([lead], { gateway }), '404 model_not_found'));
  });
});
