import { createServer, get, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { Drain } from '../../../api/http/drain.js';
import { bestMs, durationMs } from '../../support/beats.js';

const graceMs = 3_000; // a busy machine may delay a process by a second or two

describe('Drain', () => {
  let server: Server;
  let drain: Drain;

  beforeEach(async () => {
    server = createServer((_, response) => response.end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    drain = new Drain(server, { graceMs, quietMs: 5 * graceMs, maxCallMs: 100 });
  });
  afterEach(async () => {
    await drain.stop();
  });

  /** Opens a connection for one call. */
  const ask = () =>
    new Promise<number | undefined>((resolve, reject) => {
      const { port } = server.address() as AddressInfo;
      get({ host: '127.0.0.1', port, agent: false }, (response) => {
        response.resume().once('close', () => resolve(response.statusCode));
      }).once('error', reject);
    });

  it('accepts new connections during the grace time, also when none is open at that moment', async () => {
    await ask();
    const stopped = drain.stop();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await ask()).to.equal(200);
    await stopped;
    expect(server.listening).to.equal(false);
  });

  it('stops at once without a connection', async () => {
    expect(await bestMs(graceMs, () => durationMs(() => drain.stop()))).to.be.below(graceMs);
  });
});
