import { createServer, get, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { Drain } from '../../../api/http/drain.js';

describe('Drain', () => {
  let server: Server;
  let drain: Drain;

  beforeEach(async () => {
    server = createServer((_, response) => response.end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    drain = new Drain(server, 100);
  });
  afterEach(async () => {
    await drain.stop();
  });

  /** Over a connection of its own, which is closed with the reply. */
  const ask = () =>
    new Promise<number | undefined>((resolve, reject) => {
      const { port } = server.address() as AddressInfo;
      get({ host: '127.0.0.1', port, agent: false }, (response) => {
        response.resume().once('close', () => resolve(response.statusCode));
      }).once('error', reject);
    });

  it('answers those who come in the first two seconds, also when nobody is connected at the moment', async () => {
    await ask();
    const stopped = drain.stop();
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(await ask()).to.equal(200);
    await stopped;
    expect(server.listening).to.equal(false);
  });

  it('stops at once where nobody has come', async () => {
    const beganMs = performance.now();
    await drain.stop();
    expect(performance.now() - beganMs).to.be.below(1_500);
  });
});
