import { expect } from 'chai';
import { rawCall } from '../../support/http/raw-connection.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { badMethods, unknownAddresses } from '../bad-inputs/addresses.js';
import { describeBadInputs } from '../bad-inputs/bad-input.js';

describeBadInputs('404 of an address without an endpoint', unknownAddresses);
describeBadInputs('405 of a method that the address does not take', badMethods);

describe('HEAD', () => {
  let service: RunningService;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
    own = await workspace(service);
  });

  /** The status and the body of the reply. */
  const head = async (path: string, secret = own.live.secret): Promise<string> => {
    const headers = { Authorization: `Bearer ${secret}` };
    const { status, text } = await rawCall(service.url(), { method: 'HEAD', path, headers });
    return `${status} ${text}`;
  };

  it('HEAD returns the status of GET without a body', async () => {
    expect(await head('/v1/usage')).to.equal('200 ');
    expect(await head('/v1/usage', 'no')).to.equal('401 ');
    expect(await head('/v1/score')).to.equal('405 ');
    expect(await head('/v1/scores/unknown')).to.equal('404 ');
    expect(await head('/nothing')).to.equal('404 ');
  });
});
