import { expect } from 'chai';
import type { HttpReply } from '../../support/http/http-call.js';
import { type RawCall, RawConnection, requestBytes } from '../../support/http/raw-connection.js';
import { refused, scored } from '../../support/http/score-reply.js';
import type { RunningService } from '../../support/service/service.js';
import type { TestWorkspace } from '../../support/service/workspace.js';
import { answersHealth, loggedErrors, onShortTimeouts, transportCalls } from './transport-calls.js';

describe('kept-alive connections', () => {
  let service: RunningService;
  let url: string;
  let own: TestWorkspace;

  onShortTimeouts((running, fresh) => {
    service = running;
    url = running.url();
    own = fresh;
  });

  const { call, goodBody, expectCounted } = transportCalls(() => own);

  it('stays open after 401, 404, 405, 422 and 400', async () => {
    const connection = await RawConnection.open(url);
    const answerTo = async (sent: RawCall): Promise<HttpReply> => {
      connection.send(requestBytes(sent));
      return await connection.reply();
    };
    refused(await answerTo(call({ Authorization: 'Bearer no' })), '401 invalid_api_key');
    refused(await answerTo({ ...call(), path: '/nothing' }), '404 not_found');
    refused(await answerTo({ ...call(), method: 'PUT' }), '405 method_not_allowed');
    refused(await answerTo(call({}, '{')), '422 bad_request');
    refused(await answerTo(call({ 'Content-Encoding': 'br' })), '422 bad_request');
    refused(await answerTo(call({}, goodBody().replace('120', '{}'))), '400 bad_request');
    scored(await answerTo(call()));
    connection.destroy();
    await expectCounted(1);
  });

  it('answers pipelined calls in order, then malformed HTTP with 400', async () => {
    const connection = await RawConnection.open(url);
    const good = requestBytes(call());
    const bad = requestBytes(call({}, '{'));
    connection.send(Buffer.concat([good, bad, good, Buffer.from('nonsense\r\n\r\n')]));
    scored(await connection.reply());
    refused(await connection.reply(), '422 bad_request');
    scored(await connection.reply());
    refused(await connection.reply(), '400 bad_request');
    await connection.closed;
    await expectCounted(2);
  });

  it('answers pipelined calls before it refuses a malformed body or CONNECT', async () => {
    const good = requestBytes(call());
    const broken = call({ 'Transfer-Encoding': 'chunked' }, 'no chunk\r\n');
    for (const last of [broken, { ...broken, path: '/nothing' }, { method: 'CONNECT', path: 'test:443' }]) {
      const connection = await RawConnection.open(url);
      connection.send(Buffer.concat([good, good, requestBytes(last)]));
      scored(await connection.reply());
      scored(await connection.reply());
      expect((await connection.reply()).status).to.be.oneOf([400, 404]);
      await connection.closed;
      expect(connection.unread()).to.equal('');
      connection.destroy();
    }
    await expectCounted(6);
  });

  it('delivers the 400 to a client that keeps sending', async () => {
    const connection = await RawConnection.open(url);
    connection.socket.pause();
    connection.send(`GET /v1/usage HTTP/1.1\r\nX: ${'x'.repeat(20_000)}`);
    for (let piece = 0; piece < 5; piece += 1) {
      await answersHealth(url);
      connection.send('x'.repeat(20_000));
    }
    connection.socket.resume();
    const { message } = refused(await connection.reply(), '400 bad_request').error;
    expect(message).to.equal('The headers are too large.');
    connection.destroy();
  });

  it('reads a body over the limit to its end, then answers the next calls', async () => {
    const connection = await RawConnection.open(url);
    connection.send(requestBytes(call({}, 'x'.repeat(20 * 1024 * 1024))));
    connection.send(requestBytes(call({}, `${goodBody()}${' '.repeat(9 * 1024 * 1024)}`)));
    connection.send(requestBytes(call()));
    for (const _large of [1, 2]) {
      const { message } = refused(await connection.reply(), '400 bad_request').error;
      expect(message).to.match(/larger than 8388608 bytes/);
    }
    scored(await connection.reply());
    connection.destroy();
    await expectCounted(1);
  });

  it('closes the connection when a refused body never ends', async () => {
    for (const headers of [{ Authorization: 'Bearer no' }, { 'Content-Encoding': 'br' }]) {
      const connection = await RawConnection.open(url);
      connection.send(requestBytes(call({ ...headers, 'Transfer-Encoding': 'chunked' }, '1\r\nx\r\n')));
      expect((await connection.reply()).status).to.be.oneOf([401, 422]);
      const feeding = setInterval(() => connection.send('1\r\nx\r\n'), 20);
      await connection.closed.finally(() => clearInterval(feeding));
      expect(connection.unread()).to.equal('');
      connection.destroy();
    }
  });

  it('closes the connection of a refused body that comes in chunks of one byte, before its end', async () => {
    const connection = await RawConnection.open(url);
    const refusedCall = call(
      { Authorization: 'Bearer no', 'Transfer-Encoding': 'chunked' },
      '1\r\nx\r\n'.repeat(200_000),
    );
    connection.send(Buffer.concat([requestBytes(refusedCall), Buffer.from('0\r\n\r\n'), requestBytes(call())]));
    refused(await connection.reply(), '401 invalid_api_key');
    await connection.closed;
    expect(connection.unread(), 'no reply to the call after the body').to.equal('');
    connection.destroy();
    await expectCounted(0);
  });

  it('closes the connection when the client does not read its replies', async () => {
    const connection = await RawConnection.open(url);
    connection.socket.pause();
    const asked = requestBytes({ method: 'GET', path: '/openapi.json' });
    // More than the socket buffers hold.
    for (let count = 0; count < 200; count += 1) connection.send(asked);
    const feeding = setInterval(() => connection.send('GET'), 20);
    await connection.closed.finally(() => clearInterval(feeding));
    connection.destroy();
  });

  it('closes the connection without a second reply when a refused body becomes malformed', async () => {
    const connection = await RawConnection.open(url);
    connection.send(requestBytes(call({ Authorization: 'Bearer no', 'Transfer-Encoding': 'chunked' }, '1\r\nx\r\n')));
    refused(await connection.reply(), '401 invalid_api_key');
    connection.send('no chunk\r\n');
    await connection.closed;
    expect(connection.unread()).to.equal('');
    connection.destroy();
  });

  it('logs no error during the tests of kept-alive connections', async () => {
    expect(await loggedErrors(service)).to.deep.equal([]);
  });
});
