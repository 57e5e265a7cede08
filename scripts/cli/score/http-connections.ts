import {
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';

/** Without a byte for this long a call has failed. */
const idleMs = 60_000;

/** What came back: the status, the headers in lower case, and the body as text. */
export interface HttpReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Sends a body by POST. Fails with the error of the connection, or a timeout's. */
export type HttpPost = (
  url: URL,
  sent: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
) => Promise<HttpReply>;

/** Reads by GET; ended when the signal is aborted. Fails as a POST does. */
export type HttpGet = (
  url: URL,
  asked: { readonly headers: Readonly<Record<string, string>>; readonly signal: AbortSignal },
) => Promise<HttpReply>;

export interface HttpConnections {
  readonly post: HttpPost;
  readonly get: HttpGet;
  /** Ends the connections that are kept open. */
  close(): void;
}

/**
 * Makes calls over connections that are kept open between calls.
 * @param options `connections`: how many at most
 */
export function httpConnections({ connections }: { readonly connections: number }): HttpConnections {
  const kept = { keepAlive: true, maxSockets: connections };
  const http = new HttpAgent(kept);
  const https = new HttpsAgent(kept);
  const call = (url: URL, options: RequestOptions, body: Buffer | undefined): Promise<HttpReply> =>
    new Promise((resolve, reject) => {
      const sent = { ...options, timeout: idleMs };
      const request =
        url.protocol === 'https:'
          ? httpsRequest(url, { ...sent, agent: https })
          : httpRequest(url, { ...sent, agent: http });
      request.on('timeout', () => request.destroy(new Error(`no answer within ${idleMs / 1000} s`)));
      request.on('error', reject);
      request.on('response', (response) => readReply(response).then(resolve, reject));
      request.end(body);
    });
  const post: HttpPost = (url, { headers, body }) => {
    const bytes = Buffer.from(body);
    return call(url, { method: 'POST', headers: { ...headers, 'content-length': bytes.length } }, bytes);
  };
  const get: HttpGet = (url, { headers, signal }) => call(url, { method: 'GET', headers, signal }, undefined);
  return {
    post,
    get,
    close: () => {
      http.destroy();
      https.destroy();
    },
  };
}

async function readReply(response: IncomingMessage): Promise<HttpReply> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: Buffer.concat(chunks).toString('utf8'),
  };
}
