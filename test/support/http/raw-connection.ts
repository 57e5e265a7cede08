import { connect, type Socket } from 'node:net';
import type { HttpReply } from './http-call.js';

/** A request as it goes over the wire. Only `Host` and the length of the body are added. */
export interface RawCall {
  readonly method?: string;
  readonly path: string;
  /** A list sends a header several times. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string | Buffer;
}

const replyTimeoutMs = 15_000;

/** A connection on which a test sends raw bytes and reads HTTP replies. */
export class RawConnection {
  /** Resolves when either side has closed the connection. */
  readonly closed: Promise<void>;
  private received = Buffer.alloc(0);
  private isOpen = true;
  private wake: () => void = () => undefined;

  private constructor(readonly socket: Socket) {
    this.closed = new Promise((resolve) => {
      const end = (): void => {
        this.isOpen = false;
        this.wake();
        resolve();
      };
      // A reset after the reply has been read counts as an end.
      socket.on('error', end).on('end', end).on('close', end);
    });
    socket.on('data', (bytes) => {
      this.received = Buffer.concat([this.received, bytes]);
      this.wake();
    });
  }

  static async open(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true, allowHalfOpen: true });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject);
    });
    return new RawConnection(socket);
  }

  /** Sends bytes. A string is sent as Latin-1, one byte per character. */
  send(bytes: string | Buffer): void {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  /**
   * The next reply, skipping interim replies (1xx).
   * @param options.hasBody false for the reply to HEAD, which has a Content-Length but no body
   * @throws Error if no reply arrives within 15 s, or the connection ends first
   */
  async reply({ hasBody = true } = {}): Promise<HttpReply> {
    const endMs = performance.now() + replyTimeoutMs;
    for (;;) {
      const reply = this.parse(hasBody);
      if (reply !== undefined && reply.status >= 200) return reply;
      if (reply !== undefined) continue;
      if (!this.isOpen) throw new Error(`closed without a reply, after ${JSON.stringify(this.text())}`);
      await this.moreBefore(endMs);
    }
  }

  /** The received bytes that no reply has consumed. */
  unread(): string {
    return this.text();
  }

  destroy(): void {
    this.socket.destroy();
  }

  private text(): string {
    return this.received.toString('utf8');
  }

  private moreBefore(endMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`no reply within ${replyTimeoutMs} ms, only ${JSON.stringify(this.text())}`)),
        endMs - performance.now(),
      );
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private parse(hasBody: boolean): HttpReply | undefined {
    const headEnd = this.received.indexOf('\r\n\r\n');
    if (headEnd === -1) return undefined;
    const [statusLine = '', ...lines] = this.received.toString('latin1', 0, headEnd).split('\r\n');
    const headers = new Headers(
      lines.map((line): [string, string] => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
      }),
    );
    const bodyLength = hasBody ? Number(headers.get('content-length') ?? 0) : 0;
    const end = headEnd + 4 + bodyLength;
    if (this.received.length < end) return undefined;
    const text = this.received.toString('utf8', headEnd + 4, end);
    this.received = this.received.subarray(end);
    return { status: Number(statusLine.split(' ')[1]), headers, text };
  }
}

/** The bytes of a request, with headers in Latin-1. */
export function requestBytes({ method = 'POST', path, headers = {}, body }: RawCall): Buffer {
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const lines = [`${method} ${path} HTTP/1.1`];
  if (!names.has('host')) lines.push('Host: test');
  for (const [name, value] of Object.entries(headers)) {
    for (const one of [value].flat()) lines.push(`${name}: ${one}`);
  }
  const bytes = Buffer.from(body ?? '');
  const saysLength = names.has('content-length') || names.has('transfer-encoding');
  if (body !== undefined && !saysLength) lines.push(`Content-Length: ${bytes.length}`);
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), bytes]);
}

/** Sends one request over a new connection and reads the reply. */
export async function rawCall(url: string, call: RawCall): Promise<HttpReply> {
  const connection = await RawConnection.open(url);
  try {
    connection.send(requestBytes(call));
    return await connection.reply({ hasBody: call.method !== 'HEAD' });
  } finally {
    connection.destroy();
  }
}
