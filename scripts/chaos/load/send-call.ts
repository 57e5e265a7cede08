import { createHash } from 'node:crypto';
import { request } from 'node:http';
import type { CallEvent } from '../check/history.js';
import type { PlannedCall } from './plan-call.js';

/** Outcome of a call as its caller sees it. */
export type SeenAnswer = Pick<CallEvent, 'outcome' | 'problem' | 'isReplay' | 'usageCurrent' | 'scores'>;

const paths = { batch: '/v1/score', webhook: '/v1/webhooks/score', usage: '/v1/usage' } as const;
/** Far beyond every deadline. The gateway has lost track of such a call. */
const forgottenAfterMs = 60_000;

/**
 * Sends one call on its own connection and reads the answer.
 * @param headers in addition to the key
 */
export function sendCall(
  url: string,
  call: PlannedCall,
  headers: Readonly<Record<string, string>>,
): Promise<SeenAnswer> {
  const { organisation, bucket, route, hangUpAfterMs } = call;
  const body = bodyOf(call);
  return new Promise((resolve) => {
    const unanswered = (outcome: CallEvent['outcome'], problem: string) =>
      resolve({ outcome, problem, isReplay: false });
    const sent = request(`${url}${paths[route]}`, {
      agent: false,
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${organisation.secrets[bucket]}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      timeout: forgottenAfterMs,
    });
    let isHungUp = false;
    sent.on('timeout', () => sent.destroy(new Error('no answer within a minute')));
    sent.on('error', (error: NodeJS.ErrnoException) => {
      if (isHungUp) unanswered('hung-up', '');
      else unanswered(error.code === 'ECONNREFUSED' ? 'refused' : 'lost', error.message);
    });
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', (error) => unanswered(isHungUp ? 'hung-up' : 'lost', error.message));
      response.on('end', () => {
        const isReplay = response.headers['idempotent-replayed'] === 'true';
        resolve(seen(call, { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString(), isReplay }));
      });
    });
    sent.end(body);
    if (hangUpAfterMs === undefined) return;
    const timer = setTimeout(() => {
      isHungUp = true;
      sent.destroy();
    }, hangUpAfterMs);
    sent.on('close', () => clearTimeout(timer));
  });
}

function bodyOf({ route, organisation, leads }: PlannedCall): string | undefined {
  const { modelId: model_id } = organisation;
  if (route === 'usage') return undefined;
  if (route === 'batch') return JSON.stringify({ model_id, records: leads });
  const { crm_id, ...record } = leads[0] ?? {};
  return JSON.stringify({ model_id, crm_id, record });
}

interface Answer {
  readonly usage?: { readonly current?: number };
  readonly scores?: readonly { readonly score?: unknown; readonly conversion_likelihood?: unknown }[];
  readonly score?: unknown;
  readonly current?: number;
  readonly error?: { readonly code?: string };
}

function seen(
  call: PlannedCall,
  { status, text, isReplay }: { readonly status: number; readonly text: string; readonly isReplay: boolean },
): SeenAnswer {
  const answer = parsed(text);
  if (answer === undefined) return { outcome: status, problem: 'a body that is not JSON', isReplay };
  if (status !== 200) return { outcome: status, problem: answer.error?.code ?? 'no code', isReplay };
  if (call.route === 'usage') return { outcome: status, isReplay };
  const { scores = [{ score: answer.score }] } = answer;
  const current = answer.usage?.current;
  const isWhole = scores.length === call.leads.length && scores.every(({ score }) => typeof score === 'number');
  return {
    outcome: status,
    isReplay,
    ...(isWhole ? {} : { problem: `${scores.length} scores for ${call.leads.length} records` }),
    ...(current === undefined ? {} : { usageCurrent: current }),
    scores: createHash('sha256')
      .update(JSON.stringify(scores.map(({ score }) => score)))
      .digest('hex'),
  };
}

function parsed(text: string): Answer | undefined {
  try {
    return JSON.parse(text) as Answer;
  } catch {
    return undefined;
  }
}
