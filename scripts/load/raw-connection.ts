import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A reply to raw bytes. */
export interface RawReply {
  readonly status: number;
  /** Status line and headers, without the empty line. */
  readonly head: string;
  readonly body: Buffer;
}

const headEnd = '\r\n\r\n';

/** Connects to the host and port of a URL. The other side may close first without closing this one. */
export async function openSocket(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true, allowHalfOpen: true });
  await once(socket, 'connect');
  return socket;
}

/** A connection on which raw bytes are sent, and replies with a Content-Length are read. */
export class RawConnection {
  /** Resolves when either side has closed the connection. A reset after the reply has been read counts as an end. */
  readonly closed: Promise<void>;
  private received = Buffer.alloc(0);
  private isOpen = true;
  private isReading = false;
  private wake: () => void = () => undefined;

  constructor(readonly socket: Socket) {
    this.closed = new Promise((resolve) => {
      const end = (): void => {
        this.isOpen = false;
        this.wake();
        resolve();
      };
      socket.on('error', end).on('end', end).on('close', end);
    });
  }

  /** Sends bytes; a text as Latin-1, one byte per character. Does nothing on a closed connection. */
  send(bytes: string | Buffer): void {
    if (this.isOpen && this.socket.writable) this.socket.write(bytes, 'latin1');
  }

  /** Closes the own side only. */
  halfClose(): void {
    this.socket.end();
  }

  /** Begins to read. A connection that is never read is not known to be closed. */
  read(): void {
    if (this.isReading) return;
    this.isReading = true;
    this.socket.on('data', (bytes) => {
      this.received = Buffer.concat([this.received, bytes]);
      this.wake();
    });
  }

  /**
   * Reads the next reply, after any interim replies (1xx).
   * @param hasBody false for the reply to HEAD, which has a Content-Length but no body
   */
  async next(limitMs: number, hasBody = true): Promise<RawReply | 'closed' | 'no answer'> {
    this.read();
    const endMs = performance.now() + limitMs;
    for (;;) {
      const reply = this.parse(hasBody);
      if (reply !== undefined && reply.status >= 200) return reply;
      if (reply !== undefined) continue;
      if (!this.isOpen) return 'closed';
      if (performance.now() >= endMs) return 'no answer';
      await this.more(endMs);
    }
  }

  /** The received bytes that no reply has consumed. */
  unread(): string {
    return this.received.toString('utf8');
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

  private parse(hasBody: boolean): RawReply | undefined {
    const headLength = this.received.indexOf(headEnd);
    if (headLength === -1) return undefined;
    const head = this.received.toString('latin1', 0, headLength);
    const start = headLength + headEnd.length;
    const end = start + (hasBody ? Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0) : 0);
    if (this.received.length < end) return undefined;
    const body = this.received.subarray(start, end);
    this.received = this.received.subarray(end);
    return { status: Number(head.slice(9, 12)), head, body };
  }
}
