import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import { sendCall, Unanswered, unanswered } from '../../../scripts/load/send-call.js';
import { listen } from '../../../shared/process/admin-server.js';

describe('sendCall', () => {
  let server: Server | undefined;

  const serve = async (answer: RequestListener): Promise<string> => {
    server = createServer(answer);
    await listen(server, '127.0.0.1', 0);
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  };
  /** Answers with what was sent. */
  const echo: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, headers } = request;
      response.writeHead(201, { 'x-seen': 'yes' });
      response.end(JSON.stringify({ method, headers, body: Buffer.concat(chunks).toString() }));
    });
  };
  const howOf = (call: Promise<unknown>): Promise<unknown> =>
    call.then(
      () => 'answered',
      (error: unknown) => (error instanceof Unanswered ? error.how : error),
    );

  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });

  it('sends a body as JSON with the key, and returns status, headers and body', async () => {
    const { status, headers, body } = await sendCall(await serve(echo), { secret: 'lead_1', body: '{"é":1}' });
    expect(status).to.equal(201);
    expect(headers).to.have.property('x-seen', 'yes');
    const seen = JSON.parse(body.toString());
    expect(seen).to.include({ method: 'POST', body: '{"é":1}' });
    expect(seen.headers).to.include({
      authorization: 'Bearer lead_1',
      'content-type': 'application/json',
      'content-length': '8',
    });
  });

  it('sends a GET without key, body and type', async () => {
    const seen = JSON.parse((await sendCall(await serve(echo), {})).body.toString());
    expect(seen.method).to.equal('GET');
    expect(seen.headers).to.not.have.any.keys('authorization', 'content-type', 'content-length');
  });

  it('sends a stream, and gives the answer to onBytes', async () => {
    let text = '';
    const onBytes = (bytes: Buffer): void => {
      text += bytes.toString();
    };
    const body = Readable.from([Buffer.from('one '), Buffer.from('two')]);
    expect((await sendCall(await serve(echo), { method: 'PUT', body, onBytes })).body).to.have.length(0);
    expect(JSON.parse(text)).to.include({ method: 'PUT', body: 'one two' });
  });

  it('rejects with the error of onBytes', async () => {
    const onBytes = (): void => {
      throw new RangeError('a wrong row');
    };
    expect(await howOf(sendCall(await serve(echo), { onBytes }))).to.be.instanceOf(RangeError);
  });

  it('rejects with the error of a stream that breaks', async () => {
    const body = new Readable({ read: () => body.destroy(new Error('the disk failed')) });
    expect(await howOf(sendCall(await serve(echo), { body }))).to.equal('lost');
  });

  const broken: readonly [how: string, title: string, answer: RequestListener, call?: object][] = [
    ['lost', 'a connection that ends before the answer', (request) => request.socket.destroy()],
    [
      'lost',
      'a connection that ends in the answer',
      (request, response) =>
        response.writeHead(200, { 'content-length': 10 }).write('12345', () => request.socket.destroy()),
    ],
    ['late', 'no answer within the limit', () => undefined, { limitMs: 20 }],
    ['late', 'an answer without end', (_, response) => void response.write('1'), { limitMs: 20 }],
    ['hung-up', 'a caller that hangs up', () => undefined, { limitMs: 5_000, hangUpAfterMs: 10 }],
  ];
  for (const [how, title, answer, call = {}] of broken)
    it(`rejects as "${how}" after ${title}`, async () => {
      expect(await howOf(sendCall(await serve(answer), call))).to.equal(how);
    });

  it('throws the error of a call that cannot be sent, instead of a lack of an answer', async () => {
    const call = sendCall(await serve(echo), { headers: { 'x-name': 'a\nb' } });
    expect(await howOf(call.catch(unanswered))).to.have.property('code', 'ERR_INVALID_CHAR');
  });

  it('rejects as "refused" when nothing listens', async () => {
    const url = await serve(echo);
    await new Promise((resolve) => server?.close(resolve));
    expect(await howOf(sendCall(url, {}))).to.equal('refused');
  });
});
