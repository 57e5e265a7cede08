import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, request as sendRequest } from 'node:http';
import { expect } from 'chai';
import { receiveParts } from '../../../api/request/uploads/receive-parts.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { failureOf } from '../../support/failure-of.js';
import { leaveOut } from '../../support/leave-out.js';

const limits = {
  partBytes: 1_000,
  silenceMs: 5_000,
  maxBytes: 10_000,
  tooLarge: () => new ApiError('refusedRequest', 'too large'),
  signal: new AbortController().signal,
  moved: () => undefined,
};

describe('receiveParts', () => {
  let server: Server;

  before(async () => {
    server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  /** Stores a body of two and a half parts. Returns the parts and their texts at the time of storing. */
  async function parts(store: () => Promise<void>) {
    const address = server.address();
    if (typeof address !== 'object' || address === null) throw new Error('the server has no port');
    const call = sendRequest({ port: address.port, host: '127.0.0.1', method: 'POST' });
    call.on('error', () => undefined);
    call.end('a'.repeat(1_000) + 'b'.repeat(1_000) + 'c'.repeat(500));
    const [request] = (await once(server, 'request')) as [IncomingMessage];
    const kept: Buffer[] = [];
    const texts: string[] = [];
    const receiving = receiveParts(request, limits, (part) => {
      kept.push(part);
      texts.push(part.toString());
      return store();
    });
    return { receiving, kept, texts };
  }

  it('stores parts in order, and frees each once it is stored', async function () {
    if (!('transfer' in ArrayBuffer.prototype)) leaveOut(this, 'Node 20 cannot free memory', 'use Node 22 or 24');
    const { receiving, kept, texts } = await parts(async () => undefined);
    expect(await receiving).to.equal(2_500);
    expect(texts).to.deep.equal(['a'.repeat(1_000), 'b'.repeat(1_000), 'c'.repeat(500)]);
    expect(kept.map(({ length }) => length)).to.deep.equal([0, 0, 0]);
  });

  it('leaves a part that could not be stored, because its write may still be sent', async () => {
    const { receiving, kept } = await parts(() => Promise.reject(new Error('no database')));
    expect((await failureOf(receiving)).message).to.include('no database');
    expect(kept.map(String)).to.deep.equal(['a'.repeat(1_000)]);
  });
});
