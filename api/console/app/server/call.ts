import { sessionIsGone } from './other-tabs.js';

/** A reply of the server that refuses a request, or no reply at all: then the status is 0. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string | undefined,
  ) {
    super(message);
  }
}

const listeners = new Set<() => void>();
/** These are sent as POST for their body alone. */
const changesNothing = /\/(playground|preview|key-search)(\?|$)/;
const packedCsv = { 'content-type': 'text/csv', 'content-encoding': 'gzip' } as const;

/** Calls a function after each change that this page makes. @returns ends it */
export function onChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/**
 * Calls the management API with the session's cookie.
 * @param body bytes are sent as they are, a CSV compressed with gzip among them; other values as JSON
 * @throws Refusal for every reply that is not a success, and for a server that does not answer
 */
export async function call<Reply>(method: string, path: string, body?: unknown): Promise<Reply> {
  const isBytes = body instanceof Blob;
  const isCsv = isBytes && body.type === 'text/csv';
  const type = { 'content-type': isBytes ? 'application/gzip' : 'application/json' };
  const headers: Record<string, string> = body === undefined ? {} : isCsv ? packedCsv : type;
  const sent = body === undefined ? {} : { body: isBytes ? body : JSON.stringify(body) };
  let response: Response;
  try {
    response = await fetchWithinRate(`/admin/v1${path}`, { method, headers, credentials: 'same-origin', ...sent });
  } catch {
    throw new Refusal(0, 'no_connection', 'The console does not answer. Check the network and try again.', undefined);
  }
  const reply = await response.json().catch(() => ({}));
  if (response.ok && method !== 'GET' && !changesNothing.test(path)) for (const listener of listeners) listener();
  if (response.ok) return reply as Reply;
  const { code = 'unknown', message, request_id } = reply.error ?? {};
  // The page shows what it loaded before. The first question of each page is answered by the page itself.
  if (code === 'sign_in_required' && path !== '/session') sessionIsGone();
  const text = message ?? `The console answered with status ${response.status}. Try again.`;
  throw new Refusal(response.status, code, text, request_id);
}

/** Who opens page after page quickly passes the rate of a session. A refused request has changed nothing. */
const mostWaits = 3;

async function fetchWithinRate(url: string, request: RequestInit): Promise<Response> {
  for (let waits = 0; ; waits += 1) {
    const response = await fetch(url, request);
    if (response.status !== 429 || waits === mostWaits) return response;
    const { error } = await response
      .clone()
      .json()
      .catch(() => ({}));
    const afterSeconds = Number(response.headers.get('retry-after'));
    if (error?.code !== 'rate_limited' || !(afterSeconds > 0 && afterSeconds <= 5)) return response;
    await new Promise((resolve) => setTimeout(resolve, 1_000 * afterSeconds));
  }
}
