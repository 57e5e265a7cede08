import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { Hostile } from '../../../scripts/attack/caller/hostile.js';
import { overloaded } from '../../../scripts/attack/caller/messages.js';

const organisation = { id: 'org', secrets: ['live', 'test'], modelIds: ['model'] };
const envelope = (message: string): string =>
  JSON.stringify({ error: { code: 'internal_error', message, docs_url: 'http://docs' } });

describe('a hostile caller', () => {
  let server: Server;
  let hostile: Hostile;
  let headers: Readonly<Record<string, string>>;
  let message: string;

  before(async () => {
    server = createServer((_request, response) => {
      const body = envelope(message);
      response.writeHead(500, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    hostile = new Hostile({ url: `http://127.0.0.1:${port}`, organisation }, [], 1_000);
  });
  after(() => {
    hostile.end(undefined);
    server.closeAllConnections();
    server.close();
  });

  it('takes a 500 for an overload when it comes with Retry-After and says that time was too short', async () => {
    const names = async (): Promise<(string | undefined)[]> => {
      const call = await hostile.call({ path: '/v1/score' });
      const raw = await hostile.connect();
      raw?.send('GET / HTTP/1.1\r\nHost: test\r\n\r\n');
      return [call?.name, raw && (await hostile.answerOn(raw)).name];
    };
    headers = { 'Retry-After': '1' };
    for (message of [
      'The scores could not be recorded in time.',
      'The records could not be scored in time.',
      'The service is overloaded: the call could not be started in time. It was not counted. Retry later.',
    ])
      expect(await names()).to.deep.equal([overloaded, overloaded]);
    headers = {};
    expect(await names()).to.deep.equal(['500 internal_error', '500 internal_error']);
    headers = { 'Retry-After': '1' };
    message = 'The scores could not be recorded.';
    expect(await names()).to.deep.equal(['500 internal_error', '500 internal_error']);
  });
});
