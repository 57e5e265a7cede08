import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { callerAddressBehind } from '../../../api/auth/client-ip.js';
import { maxUnreadBytes, ownUrlOf, startServer } from '../../../api/http/server.js';
import { UnusedBytes } from '../../../api/http/unused-bytes.js';
import { eventually } from '../../support/eventually.js';
import { RawConnection } from '../../support/http/raw-connection.js';

describe('the address of a gateway', () => {
  it('is one that can be opened, whatever host it listens on', () => {
    for (const [host, url] of [
      ['127.0.0.1', 'http://127.0.0.1:8080'],
      ['localhost', 'http://localhost:8080'],
      ['::1', 'http://[::1]:8080'],
      ['2001:db8::a', 'http://[2001:db8::a]:8080'],
      ['0.0.0.0', 'http://localhost:8080'],
      ['::', 'http://localhost:8080'],
    ] as const) {
      expect(ownUrlOf(host, 8080)).to.equal(url);
      expect(new URL(ownUrlOf(host, 8080)).origin).to.equal(url);
    }
  });
});

const unused = new UnusedBytes(callerAddressBehind([]));
const request = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`;

describe('pipelined calls', () => {
  let server: Server;
  let url: string;
  /** The calls that have begun and have no answer yet. */
  let open: { readonly path: string; readonly response: ServerResponse }[];
  const connections: RawConnection[] = [];

  beforeEach(async () => {
    open = [];
    ({ server, url } = await startServer(({ url: path = '' }, response) => open.push({ path, response }), {
      ...{ host: '127.0.0.1', port: 0, bodyTimeoutMs: 1_000, docsUrl: () => 'http://test', unused },
    }));
  });
  afterEach(() => {
    for (const connection of connections.splice(0)) connection.destroy();
    server.closeAllConnections();
    server.close();
  });

  const connected = async (): Promise<RawConnection> => {
    const connection = await RawConnection.open(url);
    connections.push(connection);
    return connection;
  };
  const paths = (): string[] => open.map(({ path }) => path);
  const answer = (headers = {}): void => {
    const [call] = open.splice(0, 1);
    call?.response.writeHead(200, { 'Content-Length': call.path.length, ...headers }).end(call.path);
  };

  it('begin one after another on their connection, and at once on another', async () => {
    const connection = await connected();
    connection.send(['/1', '/2', '/3'].map(request).join(''));
    const other = await connected();
    await eventually(() => expect(paths()).to.deep.equal(['/1']));
    other.send(request('/other'));
    await eventually(() => expect(paths()).to.deep.equal(['/1', '/other']));
    answer();
    expect((await connection.reply()).text).to.equal('/1');
    await eventually(() => expect(paths()).to.deep.equal(['/other', '/2']));
    answer();
    expect((await other.reply()).text).to.equal('/other');
    expect(paths()).to.deep.equal(['/2']);
    answer();
    expect((await connection.reply()).text).to.equal('/2');
    await eventually(() => expect(paths()).to.deep.equal(['/3']));
  });

  it('do not begin when an earlier answer ends the connection', async () => {
    const connection = await connected();
    connection.send(['/1', '/2'].map(request).join(''));
    await eventually(() => expect(paths()).to.deep.equal(['/1']));
    answer({ Connection: 'close' });
    await connection.reply();
    await connection.closed;
    expect(paths()).to.deep.equal([]);
  });

  it('cut a connection with more than a thousand that wait', async () => {
    const connection = await connected();
    connection.send(request('/1').repeat(1_001));
    await eventually(() => expect(paths()).to.deep.equal(['/1']));
    expect(connection.socket.destroyed).to.equal(false);
    connection.send(request('/1'));
    await connection.closed;
    expect(paths()).to.deep.equal(['/1']);
  });
});

describe('a body in chunks of one byte', () => {
  /** Bytes of a chunk as it is sent. */
  const chunk = '1\r\nx\r\n';
  /** Node reads so much of a connection at a time. */
  const readBytes = 64 * 1024;

  it('is parsed for one more read of the connection when its handler does not read it', async () => {
    const { server, url } = await startServer(() => undefined, {
      ...{ host: '127.0.0.1', port: 0, bodyTimeoutMs: 60_000, docsUrl: () => 'http://test', unused },
    });
    const connection = await RawConnection.open(url);
    try {
      const begun = once(server, 'request') as Promise<[IncomingMessage]>;
      connection.send(`POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(200_000)}`);
      const [request] = await begun;
      await eventually(() => expect(request.readableLength).to.be.at.least(maxUnreadBytes));
      // Long enough for all 1.2 MB to arrive, if Node would read on.
      await pause(200);
      expect(request.readableLength).to.be.below(maxUnreadBytes + readBytes / chunk.length);
    } finally {
      connection.destroy();
      server.closeAllConnections();
      server.close();
    }
  });
});
