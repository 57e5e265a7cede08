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
export const callHead = (
  { host, port }: GatewayAddress,
  shape: CallShape,
  secret: string | undefined,
): string =>
  `POST ${paths[shape]} HTTP/1.1\r\nHost: ${host}:${port}\r\n` +
  `Authorization: Bearer ${secret}\r\nContent-Type: application/json\r\n`;

/**
 * One kept-open HTTP/1.1 connection with one call at a time. It relies on the Content-Length of every reply, because a
 * complete HTTP client would take CPU time from the service on the same machine.
 */
export class HttpConnection {
  private waiting: Waiting | undefined;
  private chunks: Buffer[] = [];
  private received = 0;
  private head = '';
  /** Bytes of head and body. Undefined until the head is complete. */
  private expected: number | undefined;

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
    this.chunks.push(chunk);
    this.received += chunk.length;
    if (this.expected === undefined) this.readHead();
    if (this.expected !== undefined && this.received >= this.expected) this.finish();
  }

  private readHead(): void {
    const bytes = this.joined();
    const end = bytes.indexOf(headEnd);
    if (end < 0) return;
    this.head = bytes.toString('latin1', 0, end);
    const length = /content-length: (\d+)/i.exec(this.head)?.[1];
    if (length === undefined) this.fail(new Error(`a reply has no Content-Length: ${this.head}`));
    else this.expected = end + headEnd.length + Number(length);
  }

  private joined(): Buffer {
    if (this.chunks.length !== 1) this.chunks = [Buffer.concat(this.chunks, this.received)];
    return this.chunks[0] ?? Buffer.alloc(0);
  }

  private finish(): void {
    const { waiting, head } = this;
    const body = this.joined().subarray(head.length + headEnd.length);
    this.waiting = undefined;
    this.chunks = [];
    this.received = 0;
    this.expected = undefined;
    waiting?.resolve({ status: Number(head.slice(9, 12)), head, body });
  }

  private fail(error: Error): void {
    this.waiting?.reject(error);
    this.waiting = undefined;
  }
}
