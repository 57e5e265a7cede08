import { type Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { pipeline, Readable } from 'node:stream';

export interface LoadCall {
  /** POST with a body, GET without, by default. */
  readonly method?: string;
  /** Secret of the API key. */
  readonly secret?: string | undefined;
  /** Sent as JSON unless `headers` name another type. A stream is sent without a type. */
  readonly body?: string | Buffer | Readable | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Keeps connections open. By default each call has a connection of its own. */
  readonly agent?: Agent;
  /** Time until the end of the answer, ms; by default without limit. */
  readonly limitMs?: number;
  /** Closes the connection after this time, ms. */
  readonly hangUpAfterMs?: number | undefined;
  /** Takes the body of the answer, which is empty then. An error that it throws ends the call. */
  readonly onBytes?: (bytes: Buffer) => void;
}

export interface LoadAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Why a call has no whole answer. `lost`: the connection broke. */
export class Unanswered extends Error {
  override name = 'Unanswered';

  constructor(
    readonly how: 'refused' | 'lost' | 'late' | 'hung-up',
    message: string,
  ) {
    super(message);
  }
}

/**
 * For the `catch` of a call that may remain without an answer.
 * @throws the error if it is another one: the call itself was wrong
 */
export function unanswered(error: unknown): Unanswered {
  if (error instanceof Unanswered) return error;
  throw error;
}

/**
 * Sends one call and reads its answer.
 * @throws Unanswered, or the error of `onBytes`
 */
export function sendCall(url: string, call: LoadCall): Promise<LoadAnswer> {
  const { secret, body, agent = false, limitMs, hangUpAfterMs, onBytes } = call;
  const ofBody =
    body === undefined || body instanceof Readable
      ? {}
      : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const headers = {
    ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
    ...ofBody,
    ...call.headers,
  };
  const method = call.method ?? (body === undefined ? 'GET' : 'POST');
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, method, headers });
    const fail = (error: NodeJS.ErrnoException): void =>
      reject(new Unanswered(error.code === 'ECONNREFUSED' ? 'refused' : 'lost', error.message));
    const end = (how: 'late' | 'hung-up', ms: number | undefined) =>
      ms === undefined
        ? undefined
        : setTimeout(() => {
            reject(new Unanswered(how, `no answer within ${ms / 1_000} s`));
            sent.destroy();
          }, ms);
    const timers = [end('late', limitMs), end('hung-up', hangUpAfterMs)];
    sent.on('close', () => timers.forEach(clearTimeout)).on('error', fail);
    sent.on('response', (response) => {
      // An error of the connection is also kept by the response; any other comes from `onBytes`.
      readAnswer(response, onBytes).then(resolve, (error) => (response.errored === null ? reject(error) : fail(error)));
    });
    if (body instanceof Readable) pipeline(body, sent, (error) => error != null && fail(error));
    else sent.end(body);
  });
}

async function readAnswer(response: IncomingMessage, onBytes: LoadCall['onBytes']): Promise<LoadAnswer> {
  const chunks: Buffer[] = [];
  for await (const bytes of response) {
    if (onBytes === undefined) chunks.push(bytes);
    else onBytes(bytes);
  }
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) };
}
