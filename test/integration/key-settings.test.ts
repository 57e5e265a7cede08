import { expect } from 'chai';
import { refused, scored } from '../support/http/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service/service.js';
import { workspace } from '../support/service/workspace.js';

const lead = { company_size: 120 };
const warning = 'keys made before are unknown to this gateway';

describe('a changed KEY_PEPPER', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService({ gateways: 1 });
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await service?.stop();
  });

  it('of a gateway that does not start is not taken down: the others still make the keys', async function () {
    this.timeout(startTimeoutMs);
    const environment = { KEY_PEPPER: 'a pepper of nobody', PORT: new URL(service.url()).port };
    const failure = await service.startGateway(environment).catch(String);
    expect(failure).to.include('ended before it was ready');
    expect(await service.log()).to.include('is something else running there?');
    await service.startGateway();
    expect(await service.log()).to.not.include(warning);
  });

  it('does not keep a gateway from starting, which warns that it does not know the keys made before', async function () {
    this.timeout(startTimeoutMs);
    const own = await workspace(service);
    await service.startGateway();
    expect(await service.log()).to.not.include(warning);
    const changed = await service.startGateway({ KEY_PEPPER: 'a pepper after the first' });
    expect(await service.log())
      .to.include(`KEY_PEPPER changed since a gateway was last started, or keys were made: ${warning}`)
      .and.not.include('a pepper after the first');
    scored(await own.score([lead]));
    refused(await own.score([lead], { url: changed.url }), '401 invalid_api_key');
  });
});
