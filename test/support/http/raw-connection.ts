import { RawConnection as LoadConnection, openSocket } from '../../../scripts/load/raw-connection.js';
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
export class RawConnection extends LoadConnection {
  static async open(url: string): Promise<RawConnection> {
    const connection = new RawConnection(await openSocket(url));
    connection.read();
    return connection;
  }

  /**
   * The next reply, skipping interim replies (1xx).
   * @param options.hasBody false for the reply to HEAD, which has a Content-Length but no body
   * @throws Error if no reply arrives within 15 s, or the connection ends first
   */
  async reply({ hasBody = true } = {}): Promise<HttpReply> {
    const reply = await this.next(replyTimeoutMs, hasBody);
    if (reply === 'closed') throw new Error(`closed without a reply, after ${JSON.stringify(this.unread())}`);
    if (reply === 'no answer')
      throw new Error(`no reply within ${replyTimeoutMs} ms, only ${JSON.stringify(this.unread())}`);
    const headers = new Headers(
      reply.head
        .split('\r\n')
        .slice(1)
        .map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
    );
    return { status: reply.status, headers, text: reply.body.toString('utf8') };
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
