import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { pipeline, type Readable } from 'node:stream';

/** A call fails when its socket is idle for this long. An upload that makes progress may take longer. */
const idleMs = 60_000;

/** A reply with header names in lower case. */
export interface HttpReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/**
 * Sends a request and resolves with the beginning of its reply, whose body the caller must read or destroy. Rejects
 * with the error of the connection or of the timeout. Does not follow redirects. A service that refuses a body may
 * answer before it has read the body.
 */
export type HttpSend = (
  url: URL,
  sent: {
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    /** Destroyed when the request fails. Its length must be among the headers. */
    readonly body?: Readable;
    readonly signal?: AbortSignal;
  },
) => Promise<IncomingMessage>;

export interface HttpConnections {
  readonly send: HttpSend;
  /** Closes idle keep-alive connections. */
  close(): void;
}

/**
 * Makes calls over keep-alive connections.
 *
 * Built on `node:http` because `fetch` has no idle timeout for uploads, refuses some ports (such as 6000 and 10080) and
 * refuses URLs with credentials.
 * @param options `connections` is the maximum number of connections
 */
export function httpConnections({ connections }: { readonly connections: number }): HttpConnections {
  const kept = { keepAlive: true, maxSockets: connections };
  const http = new HttpAgent(kept);
  const https = new HttpsAgent(kept);
  const open = (url: URL, options: RequestOptions, body: Readable | undefined): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const sent = { ...options, timeout: idleMs };
      const request =
        url.protocol === 'https:'
          ? httpsRequest(url, { ...sent, agent: https })
          : httpRequest(url, { ...sent, agent: http });
      request.on('timeout', () => request.destroy(new Error(`no answer within ${idleMs / 1000} s`)));
      request.on('error', reject);
      request.on('response', resolve);
      if (body === undefined) request.end();
      else pipeline(body, request, (error) => (error == null ? undefined : reject(error)));
    });
  return {
    send: (url, { body, ...options }) => open(url, options, body),
    close: () => {
      http.destroy();
      https.destroy();
    },
  };
}

/** Reads a reply to its end. @throws the error of a connection that breaks before */
export async function readWholeReply(response: IncomingMessage): Promise<HttpReply> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: Buffer.concat(chunks).toString('utf8'),
  };
}
