import { eventually } from '../eventually.js';

/** The reply to a call. */
export interface HttpReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface HttpCall {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  /** The key's secret, sent as `Authorization: Bearer`. */
  readonly secret?: string | undefined;
  /** A string is sent as it is, anything else as JSON. */
  readonly body?: unknown;
  /** Override the headers from `secret` and `body`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Sends one call and reads the whole reply, with any status. */
export async function httpCall(url: string, call: HttpCall): Promise<HttpReply> {
  const { method = 'POST', secret, body, headers } = call;
  const isText = typeof body === 'string' || body === undefined;
  const response = await fetch(url, {
    method,
    headers: {
      ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: isText ? (body ?? null) : JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Gateway caches expire after 5 s, so a change that is seen within 2 s was seen through its message. */
const changeSeenWithinMs = 2_000;

/** Runs a check on gateway 0 and then on gateway 1, each until it passes, but at most 2 s. */
export async function onEachGateway(check: (gateway: number) => Promise<unknown>): Promise<void> {
  for (const gateway of [0, 1]) await eventually(() => check(gateway), changeSeenWithinMs);
}
