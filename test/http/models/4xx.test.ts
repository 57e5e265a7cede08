import { expect } from 'chai';
import { refused } from '../../support/http/score-reply.js';
import { runningService, startTimeoutMs } from '../../support/service/service.js';
import { workspace } from '../../support/service/workspace.js';
import { unknownReadModels } from '../bad-inputs/addresses.js';
import { describeBadInputs } from '../bad-inputs/bad-input.js';

describeBadInputs('404 of GET /v1/models/{model_id}', unknownReadModels);

describe('404 of GET /v1/models/{model_id}: other organisations', () => {
  it('returns 404 for the model of another organisation, and does not list it', async function () {
    this.timeout(startTimeoutMs);
    const service = await runningService();
    const own = await workspace(service);
    const other = await workspace(service);
    expect((await other.call('/v1/models')).text).to.not.include(own.model._id);
    refused(await other.call(`/v1/models/${own.model._id}`), '404 model_not_found');
  });
});
