import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { expectSlowDiscarding } from '../../support/http/endless-senders.js';
import type { HttpReply } from '../../support/http/http-call.js';
import { RawConnection, rawCall, requestBytes } from '../../support/http/raw-connection.js';
import { refused, scored } from '../../support/http/score-reply.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { loggedErrors, transportCalls } from './transport-calls.js';

const head = (method: string, path: string): string =>
  `${method} ${path} HTTP/1.1\r\nHost: test\r\nContent-Length: ${10 ** 12}\r\n\r\n`;

describe('bodies that the gateway does not use', function () {
  this.timeout(60_000);
  let service: RunningService;
  let url: string;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedService('default');
    url = service.url(0);
  });
  beforeEach(async () => {
    own = await workspace(service);
  });

  const { call } = transportCalls(() => own);

  /** Sends a whole body before it reads anything, as curl and Python's requests do. */
  async function lateReader(bytes: number): Promise<HttpReply> {
    const connection = await RawConnection.open(url);
    connection.socket.pause();
    const body = requestBytes({ path: '/v1/score', body: Buffer.alloc(bytes, ' ') });
    await new Promise((resolve) => connection.socket.write(body, resolve));
    connection.socket.resume();
    return await connection.reply().finally(() => connection.destroy());
  }

  for (const { title, begin } of [
    { title: 'calls without a key', begin: head('POST', '/v1/score') },
    { title: 'calls of an unknown path', begin: head('PUT', '/nothing') },
    { title: 'calls that need no body', begin: head('GET', '/healthz') },
    { title: 'malformed HTTP', begin: 'nonsense\r\n\r\n' },
  ])
    it(`discards the bytes of ${title} slowly, and answers other callers meanwhile`, async () => {
      await expectSlowDiscarding(url, begin, async () => {
        await pause(2_000);
        scored(await rawCall(url, call()));
        refused(await lateReader(1024 * 1024), '401 invalid_api_key');
      });
    });

  it('returns 401 to a client that sends eight megabytes before it reads', async () => {
    for (let count = 0; count < 3; count += 1) refused(await lateReader(8_000_000), '401 invalid_api_key');
  });

  it('keeps the connection of a refused body for the next call', async () => {
    const connection = await RawConnection.open(url);
    connection.send(requestBytes({ path: '/v1/score', body: Buffer.alloc(3_000_000, ' ') }));
    connection.send(requestBytes(call()));
    refused(await connection.reply(), '401 invalid_api_key');
    scored(await connection.reply());
    connection.destroy();
  });

  it('logs no error', async () => {
    expect(await loggedErrors(service)).to.deep.equal([]);
  });
});
