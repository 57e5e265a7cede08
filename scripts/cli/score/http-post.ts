import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';

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

export interface HttpConnections {
  readonly post: HttpPost;
  /** Ends the connections that are kept open. */
  close(): void;
}

/**
 * Makes POST calls over connections that are kept open between calls.
 * @param options `connections`: how many at most; `idleMs`: without a byte for this long a call has failed
 */
export function httpConnections({
  connections,
  idleMs = 60_000,
}: {
  readonly connections: number;
  readonly idleMs?: number;
}): HttpConnections {
  const kept = { keepAlive: true, maxSockets: connections };
  const http = new HttpAgent(kept);
  const https = new HttpsAgent(kept);
  const post: HttpPost = (url, { headers, body }) =>
    new Promise((resolve, reject) => {
      const bytes = Buffer.from(body);
      const options = {
        method: 'POST',
        headers: { ...headers, 'content-length': bytes.length },
        timeout: idleMs,
      };
      const request =
        url.protocol === 'https:'
          ? httpsRequest(url, { ...options, agent: https })
          : httpRequest(url, { ...options, agent: http });
      request.on('timeout', () => request.destroy(new Error(`no answer within ${idleMs / 1000} s`)));
      request.on('error', reject);
      request.on('response', (response) => readReply(response).then(resolve, reject));
      request.end(bytes);
    });
  return {
    post,
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
