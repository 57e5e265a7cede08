import { expect } from 'chai';
import type { ServiceProcess } from '../../../scripts/servers/service-process.js';
import { type KeySettingName, KeySettingsStore } from '../../../shared/store/accounts/key-settings.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { type RunningService, type Settings, sharedService, startTimeoutMs } from '../../support/service/service.js';
import { workspace } from '../../support/service/workspace.js';

const lead = { company_size: 120 };

describe('KEY_PEPPER of a starting gateway', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedService('disposable');
  });
  /** Stops the gateways that a test has started. */
  afterEach(async function () {
    this.timeout(startTimeoutMs);
    await Promise.all(started.splice(0).map((gateway) => gateway.stop()));
  });

  const started: ServiceProcess[] = [];
  const startGateway = async (environment: Settings = {}): Promise<ServiceProcess> => {
    const gateway = await service.startGateway(environment);
    started.push(gateway);
    return gateway;
  };

  /** The names of the stored key settings that differ from those of the service. */
  const changedSettings = (): Promise<KeySettingName[]> =>
    new KeySettingsStore(service.stores.database).compare({ brand: 'leadscore', pepper: service.keyPepper });

  it('does not store the KEY_PEPPER of a gateway that fails to start', async function () {
    this.timeout(startTimeoutMs);
    const environment = {
      KEY_PEPPER: 'the pepper of a gateway that fails',
      PORT: new URL(service.url()).port,
    };
    const failure = await service.startGateway(environment).catch(String);
    expect(failure).to.include('ended before it was ready');
    expect(await service.log()).to.include('is something else running there?');
    expect(await changedSettings()).to.deep.equal([]);
  });

  it('starts with another KEY_PEPPER, stores it, and returns 401 for earlier keys', async function () {
    this.timeout(startTimeoutMs);
    const own = await workspace(service);
    await startGateway();
    expect(await changedSettings()).to.deep.equal([]);
    const changed = await startGateway({ KEY_PEPPER: 'a pepper after the first' });
    expect(await changedSettings()).to.deep.equal(['KEY_PEPPER']);
    expect(await service.log()).to.not.include('a pepper after the first');
    scored(await own.score([lead]));
    refused(await own.score([lead], { url: changed.url }), '401 invalid_api_key');
  });
});
