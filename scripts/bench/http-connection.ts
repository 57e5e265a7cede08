import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A reply as it came. */
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

/**
 * One HTTP/1.1 connection that is kept open and carries one call at a time. It knows only what the gateway does (every
 * reply has a Content-Length), and is cheap: what the load costs is taken from the service on the same machine.
 */
export class HttpConnection {
  private waiting: Waiting | undefined;
  private chunks: Buffer[] = [];
  private received = 0;
  private head = '';
  /** Bytes of head and body; undefined until the head has come. */
  private expected: number | undefined;

  private constructor(private readonly socket: Socket) {
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.receive(chunk));
    socket.on('error', (error) => this.fail(error));
    socket.on('close', () => this.fail(new Error('the gateway closed the connection')));
  }

  /** Opens a connection. */
  static async open(address: { readonly host: string; readonly port: number }): Promise<HttpConnection> {
    const socket = connect(address);
    await once(socket, 'connect');
    return new HttpConnection(socket);
  }

  /**
   * Makes one call. Rejects when the connection fails or the reply cannot be read.
   * @param head request line and headers without the Content-Length and the empty line
   */
  call(head: string, body: Buffer): Promise<HttpReply> {
    if (this.waiting !== undefined) throw new Error('the connection carries a call already');
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
    if (length === undefined) this.fail(new Error(`a reply without Content-Length: ${this.head}`));
    else this.expected = end + headEnd.length + Number(length);
  }

  private joined(): Buffer {
    const [first, ...others] = this.chunks;
    if (first === undefined) return Buffer.alloc(0);
    if (others.length > 0) this.chunks = [Buffer.concat(this.chunks, this.received)];
    return this.chunks[0] ?? first;
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
