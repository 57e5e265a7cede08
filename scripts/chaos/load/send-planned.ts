import { createHash } from 'node:crypto';
import { type LoadAnswer, sendCall, unanswered } from '../../load/send-call.js';
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
export async function sendPlanned(
  url: string,
  call: PlannedCall,
  headers: Readonly<Record<string, string>>,
): Promise<SeenAnswer> {
  const { organisation, bucket, route, hangUpAfterMs } = call;
  const secret = organisation.secrets[bucket];
  const sent = { secret, body: bodyOf(call), headers, hangUpAfterMs, limitMs: forgottenAfterMs };
  return await sendCall(`${url}${paths[route]}`, sent).then(
    (answer) => seen(call, answer),
    (error: unknown) => {
      const { how, message } = unanswered(error);
      return { outcome: how === 'late' ? 'lost' : how, problem: message, isReplay: false };
    },
  );
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

function seen(call: PlannedCall, { status, headers, body }: LoadAnswer): SeenAnswer {
  const isReplay = headers['idempotent-replayed'] === 'true';
  const answer = parsed(body.toString());
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
