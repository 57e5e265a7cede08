import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { type ConsoleService, consoleService } from '../../support/admin/console-service.js';
import { expectSlowDiscarding } from '../../support/http/endless-senders.js';
import { RawConnection, rawCall, requestBytes } from '../../support/http/raw-connection.js';
import { startTimeoutMs } from '../../support/service/service.js';

describe('bodies that the console does not use', () => {
  let service: ConsoleService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await consoleService({ BODY_TIMEOUT_MS: '5000' });
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await service?.leave();
  });

  const upload = { path: '/admin/v1/orgs/any/uploads', headers: { 'Sec-Fetch-Site': 'same-origin' } };

  it('are discarded slowly without a session, and others are answered meanwhile', async function () {
    this.timeout(60_000);
    const begin = requestBytes({ ...upload, headers: { ...upload.headers, 'Content-Length': `${10 ** 12}` } });
    await expectSlowDiscarding(service.url, begin.toString(), async () => {
      await pause(2_000);
      expect((await rawCall(service.url, { method: 'GET', path: '/healthz' })).status).to.equal(200);
    });
  });

  it('end their connection at the body timeout, also after the parser of JSON has given up', async function () {
    this.timeout(60_000);
    for (const path of [upload.path, '/admin/v1/session']) {
      const connection = await RawConnection.open(service.url);
      const headers = { ...upload.headers, 'Content-Type': 'application/json', 'Content-Length': '1000000' };
      connection.send(requestBytes({ path, headers, body: ' '.repeat(400_000) }));
      expect((await connection.reply()).status).to.be.within(400, 499);
      await connection.closed;
      connection.destroy();
    }
  });
});
