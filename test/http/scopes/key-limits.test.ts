import { expect } from 'chai';
import { expiryText } from '../../../shared/contract/dates.js';
import { cliDocument } from '../../scripts/cli/cli-call.js';
import { eventually } from '../../support/eventually.js';
import { refused } from '../../support/http/score-reply.js';
import { testServers } from '../../support/service/servers.js';
import type { RunningService } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace } from '../../support/service/workspace.js';
import type { UsableKey } from '../../support/service/workspace-parts.js';

/** A change takes effect on each gateway within this time. */
const followMs = 5_000;
/** A slow machine runs the command within this time. */
const beforeExpiryMs = 5_000;

describe('the limits of a key in use', () => {
  let service: RunningService;
  let own: TestWorkspace;
  let key: UsableKey;

  onOwnWorkspace(async (fresh, running) => {
    [own, service] = [fresh, running];
    key = await own.addKey('live');
  }, 'twoGateways');

  /** Runs `key set` with the settings of the service. */
  async function set(...options: string[]): Promise<Record<string, unknown>> {
    const mongoUrl = new URL((await testServers()).mongoUrl);
    mongoUrl.pathname = service.stores.database.databaseName;
    const settings = { MONGODB_URL: String(mongoUrl), REDIS_URL: service.redisServer.url };
    return await cliDocument(['key', 'set', key.key._id, ...options], settings);
  }

  /** Expects a status of an endpoint that needs the scope `read`, at each gateway. */
  async function expectStatus(status: number): Promise<void> {
    for (const gateway of [0, 1]) {
      const reply = await own.call(`/v1/models/${own.model._id}/coverage`, { key, gateway });
      expect(reply.status, `gateway ${gateway}: ${reply.text}`).to.equal(status);
    }
  }

  it('change on each gateway within five seconds, without another secret', async () => {
    await expectStatus(200);
    expect(await set('--scopes', 'score')).to.deep.include({ scopes: ['score'] });
    await eventually(() => expectStatus(403), followMs);
    expect(await set('--scopes', 'all')).to.not.have.property('scopes');
    await eventually(() => expectStatus(200), followMs);
  });

  it('end a key that gateways have cached at its expiry, with the date, until the date is a later one', async () => {
    await expectStatus(200);
    const at = new Date(service.clock.now() + beforeExpiryMs);
    await set('--expires', at.toISOString());
    await eventually(() => expectStatus(401), beforeExpiryMs + followMs, 100);
    for (const gateway of [0, 1]) {
      const reply = await own.call('/v1/models', { key, gateway });
      refused(reply, '401 invalid_api_key');
      expect(reply.text).to.include(`The API key expired ${expiryText(at)}.`);
      const headers = { authorization: '', 'x-api-key': key.secret };
      const path = `/v1/webhooks/score?model_id=${own.model._id}`;
      const webhook = await own.call(path, { gateway, headers, body: { company_size: 1 } });
      refused(webhook, '401 invalid_api_key');
      expect(webhook.text).to.include('The API key expired');
    }
    await set('--expires', 'never');
    await eventually(() => expectStatus(200), followMs);
  });
});
