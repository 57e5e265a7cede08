import { expect } from 'chai';
import { refused } from '../../support/http/score-reply.js';
import { onOwnWorkspace, type TestWorkspace } from '../../support/service/workspace.js';
import { badQueries, unknownLeads } from '../bad-inputs/addresses.js';
import { describeBadInputs } from '../bad-inputs/bad-input.js';
import { badScoresKeys } from '../bad-inputs/keys.js';
import { type History, read, scoreSizes, scoresOf } from './history.js';

describeBadInputs('401 of DELETE /v1/scores/{crm_id}', badScoresKeys);
describeBadInputs('404 of GET and DELETE /v1/scores/{crm_id}', unknownLeads);
describeBadInputs('422 of GET /v1/scores/{crm_id}', badQueries);

describe('400 of DELETE /v1/scores/{crm_id}', () => {
  let own: TestWorkspace;

  onOwnWorkspace((fresh) => {
    own = fresh;
  });

  it('returns 400 for a model_id in the query, because DELETE erases the scores of all models', async () => {
    await scoreSizes(own, { crmId: 'L-1', sizes: [10] });
    const path = scoresOf('L-1', `?model_id=${own.model._id}`);
    const { error } = refused(await own.call(path, { method: 'DELETE' }), '400 bad_request');
    expect(error.message).to.include('erases the scores of all models');
    expect(read<History>(await own.call(scoresOf('L-1'))).scores).to.have.length(1);
    expect((await own.call(scoresOf('L-1', '?model_id='), { method: 'DELETE' })).status).to.equal(204);
  });

  it('returns 400 to a test key, and erases nothing', async () => {
    await scoreSizes(own, { crmId: 'L-1', sizes: [10] });
    const reply = await own.call(scoresOf('L-1'), { method: 'DELETE', key: own.test });
    expect(refused(reply, '400 bad_request').error.message).to.include('live key');
    expect(read<History>(await own.call(scoresOf('L-1'))).scores).to.have.length(1);
  });
});
