/** The reply to a call. */
export interface HttpReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface HttpCall {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
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
