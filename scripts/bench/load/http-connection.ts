import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { CallShape } from '../scenarios.js';
import type { HttpReply } from './check-replies.js';
import type { GatewayAddress } from './messages.js';

const headEnd = '\r\n\r\n';

/**
 * One kept-open HTTP/1.1 connection with one call at a time. It relies on the Content-Length of every reply, because a
 * complete HTTP client would take CPU time from the service on the same machine.
 */
export class HttpConnection {
  private waiting: { resolve(reply: HttpReply): void; reject(error: Error): void } | undefined;
  /** Bytes of the reply so far. */
  private received: Buffer = Buffer.alloc(0);

  /** @param head request line and headers, without Content-Length and the empty line */
  private constructor(
    private readonly socket: Socket,
    private readonly head: string,
  ) {
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.receive(chunk));
    socket.on('error', (error) => this.fail(error));
    socket.on('close', () => this.fail(new Error('the gateway closed the connection')));
  }

  /** @param calls.caller chooses the API key */
  static async open(
    { host, port, secrets }: GatewayAddress,
    calls: { readonly shape: CallShape; readonly caller: number },
  ): Promise<HttpConnection> {
    const socket = connect({ host, port });
    await once(socket, 'connect');
    const path = calls.shape === 'webhook' ? '/v1/webhooks/score' : '/v1/score';
    const authorization = `Authorization: Bearer ${secrets[calls.caller % secrets.length]}`;
    const head = `POST ${path} HTTP/1.1\r\nHost: ${host}:${port}\r\n${authorization}\r\nContent-Type: application/json`;
    return new HttpConnection(socket, head);
  }

  /** Sends one call. Rejects if the connection fails or the reply has no Content-Length. */
  call(body: Buffer): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
      this.socket.cork();
      this.socket.write(`${this.head}\r\nContent-Length: ${body.length}${headEnd}`, 'latin1');
      this.socket.write(body);
      this.socket.uncork();
    });
  }

  close(): void {
    this.socket.removeAllListeners('close');
    this.socket.destroy();
  }

  private receive(chunk: Buffer): void {
    const bytes = this.received.length === 0 ? chunk : Buffer.concat([this.received, chunk]);
    this.received = bytes;
    const bodyStart = bytes.indexOf(headEnd) + headEnd.length;
    if (bodyStart < headEnd.length) return;
    const head = bytes.toString('latin1', 0, bodyStart - headEnd.length);
    const length = /content-length: (\d+)/i.exec(head)?.[1];
    if (length === undefined) this.fail(new Error(`a reply has no Content-Length: ${head}`));
    else if (bytes.length >= bodyStart + Number(length)) {
      this.received = Buffer.alloc(0);
      this.waiting?.resolve({ status: Number(head.slice(9, 12)), head, body: bytes.subarray(bodyStart) });
    }
  }

  private fail(error: Error): void {
    this.waiting?.reject(error);
  }
}
