import { connect, type Socket } from 'node:net';

/** A reply to raw bytes. */
export interface RawReply {
  readonly status: number;
  readonly body: Buffer;
}

const headEnd = Buffer.from('\r\n\r\n');

/** A connection on which an attack sends raw bytes and reads replies with a Content-Length. */
export class RawSocket {
  isOpen = true;
  private received = Buffer.alloc(0);
  private wake: () => void = () => undefined;

  private constructor(readonly socket: Socket) {
    const end = (): void => {
      this.isOpen = false;
      this.wake();
    };
    socket.on('error', end).on('end', end).on('close', end);
  }

  static async open(url: string): Promise<RawSocket> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true, allowHalfOpen: true });
    await new Promise((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject);
    });
    return new RawSocket(socket);
  }

  /** Sends bytes; a text as UTF-8. Does nothing on a closed connection. */
  send(bytes: string | Buffer): void {
    if (this.isOpen && this.socket.writable) this.socket.write(bytes);
  }

  /** Closes the own side only. */
  halfClose(): void {
    this.socket.end();
  }

  /** The next reply, after any interim replies. A connection whose replies are never asked for is never read. */
  async reply(limitMs: number): Promise<RawReply | 'closed' | 'no answer'> {
    if (this.socket.listenerCount('data') === 0)
      this.socket.on('data', (bytes) => {
        this.received = Buffer.concat([this.received, bytes]);
        this.wake();
      });
    const endMs = performance.now() + limitMs;
    for (;;) {
      const reply = this.parse();
      if (reply !== undefined && reply.status >= 200) return reply;
      if (reply !== undefined) continue;
      if (!this.isOpen) return 'closed';
      if (performance.now() >= endMs) return 'no answer';
      await this.more(endMs);
    }
  }

  destroy(): void {
    this.socket.destroy();
  }

  private more(endMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.max(1, endMs - performance.now()));
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private parse(): RawReply | undefined {
    const bodyStart = this.received.indexOf(headEnd) + headEnd.length;
    if (bodyStart < headEnd.length) return undefined;
    const head = this.received.toString('latin1', 0, bodyStart);
    const end = bodyStart + Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    if (this.received.length < end) return undefined;
    const body = this.received.subarray(bodyStart, end);
    this.received = this.received.subarray(end);
    return { status: Number(head.slice(9, 12)), body };
  }
}
