import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { CallShape } from '../scenarios.js';
import type { GatewayAddress } from './messages.js';

export interface HttpReply {
  readonly status: number;
  /** Status line and headers. */
  readonly head: string;
  readonly body: Buffer;
}

interface Waiting {
  readonly resolve: (reply: HttpReply) => void;
  readonly reject: (error: Error) => void;
}

const headEnd = '\r\n\r\n';
const paths = { batch: '/v1/score', single: '/v1/score', webhook: '/v1/webhooks/score' } as const;

/** Request line and headers of a call, without Content-Length and the empty line. */
export const callHead = ({ host, port }: GatewayAddress, shape: CallShape, secret: string | undefined): string =>
  `POST ${paths[shape]} HTTP/1.1\r\nHost: ${host}:${port}\r\n` +
  `Authorization: Bearer ${secret}\r\nContent-Type: application/json\r\n`;

/**
 * One kept-open HTTP/1.1 connection with one call at a time. It relies on the Content-Length of every reply, because a
 * complete HTTP client would take CPU time from the service on the same machine.
 */
export class HttpConnection {
  private waiting: Waiting | undefined;
  /** Bytes of the reply so far. */
  private received: Buffer = Buffer.alloc(0);

  private constructor(private readonly socket: Socket) {
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.receive(chunk));
    socket.on('error', (error) => this.fail(error));
    socket.on('close', () => this.fail(new Error('the gateway closed the connection')));
  }

  static async open(address: { readonly host: string; readonly port: number }): Promise<HttpConnection> {
    const socket = connect(address);
    await once(socket, 'connect');
    return new HttpConnection(socket);
  }

  /**
   * Sends one call. Rejects if the connection fails or the reply has no Content-Length.
   * @param head see `callHead`
   */
  call(head: string, body: Buffer): Promise<HttpReply> {
    if (this.waiting !== undefined) throw new Error('the connection is busy with another call');
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
      this.socket.cork();
      this.socket.write(`${head}Content-Length: ${body.length}\r\n\r\n`, 'latin1');
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
      const { waiting } = this;
      this.waiting = undefined;
      this.received = Buffer.alloc(0);
      waiting?.resolve({ status: Number(head.slice(9, 12)), head, body: bytes.subarray(bodyStart) });
    }
  }

  private fail(error: Error): void {
    this.waiting?.reject(error);
    this.waiting = undefined;
  }
}
