import { ownSettings, type Settings } from '../servers/service-process.js';
import type { AboutFixture, RecordedAnswer } from './fixture-file.js';

/** A call of `RecordedAnswer` without its answer. */
export type RecordedCall = Omit<RecordedAnswer, 'status' | 'text'>;

/** Settings of a service whose clock shows a time. Errors name the address of their documentation. */
export const settingsAt = (atMs: number, pepper: string): Settings => ({
  ...ownSettings(pepper),
  ...{ WORKERS: '1', NODE_OPTIONS: undefined, BASE_URL: 'https://scoring.example.com' },
  CLOCK_OFFSET_MS: String(Math.round(atMs - Date.now())),
});

/** Sends a call to a gateway, again while it answers 500: a busy machine may take longer than a call has time. */
export async function answerInTime(url: string, keys: AboutFixture['keys'], call: RecordedCall) {
  for (let attempts = 1; ; attempts += 1) {
    const answer = await answerOf(url, keys, call);
    if (answer.status < 500) return answer;
    if (attempts === mostAttempts) throw new Error(`${call.path} was answered with ${answer.status}: ${answer.text}`);
  }
}

const mostAttempts = 10;

/** Sends a call of a fixture to a gateway. @returns the call with its answer */
export async function answerOf(
  url: string,
  keys: AboutFixture['keys'],
  { method, path, key, headers, body }: RecordedCall,
): Promise<RecordedAnswer> {
  const reply = await fetch(`${url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${keys[key] ?? ''}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  const given = { method, path, key, ...(headers && { headers }), ...(body !== undefined && { body }) };
  return { ...given, status: reply.status, text: await reply.text() };
}
