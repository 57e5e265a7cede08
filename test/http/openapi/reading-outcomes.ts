import { type HttpCall, httpCall } from '../../support/http/http-call.js';
import type { UsableKey } from '../../support/service/workspace-parts.js';
import { lead, type Scene, usedUp, withHugeHeader } from './provoked-outcomes.js';
import type { Outcomes } from './scoring-outcomes.js';

/** The crm_id of a lead with three scores. */
const knownId = 'lead/7 é';

/** Calls that provoke the replies common to all reading endpoints. */
export function readingOutcomes(scene: Scene, path: string, method: NonNullable<HttpCall['method']> = 'GET'): Outcomes {
  const { plain, usedUpKey, brokenKey, service } = scene;
  const url = () => service.url() + path;
  const send = ({ secret }: UsableKey = plain.live) => httpCall(url(), { method, secret });
  return {
    '400 bad_request': [() => withHugeHeader(url(), method)],
    '401 invalid_api_key': [() => httpCall(url(), { method })],
    '429 rate_limited': [() => usedUp(() => send(usedUpKey))],
    '500 internal_error': [() => send(brokenKey)],
  };
}

/**
 * Calls that provoke every reply of `GET /v1/usage`, its days, `GET /v1/models`, `GET /v1/models/{model_id}` and its
 * coverage.
 */
export function lookUpOutcomes(scene: Scene): Readonly<Record<string, Outcomes>> {
  const { plain, readOnly, blocked, gradedModel, service } = scene;
  const read =
    (path: string, key: UsableKey = plain.live) =>
    () =>
      httpCall(service.url() + path, { method: 'GET', secret: key.secret });
  const model = `/v1/models/${plain.model._id}`;
  return {
    getUsage: {
      ...readingOutcomes(scene, '/v1/usage'),
      '200': [read('/v1/usage'), read('/v1/usage', plain.test), read('/v1/usage', readOnly.live)],
    },
    getDailyUsage: {
      ...readingOutcomes(scene, '/v1/usage/daily'),
      '200': [read('/v1/usage/daily'), read('/v1/usage/daily?month=2026-01', plain.test)],
      '422 bad_request': [read('/v1/usage/daily?month=2026-13'), read('/v1/usage/daily?month=1&month=2')],
    },
    listModels: { ...readingOutcomes(scene, '/v1/models'), '200': [read('/v1/models')] },
    getModel: {
      ...readingOutcomes(scene, model),
      '200': [read(model), read(`/v1/models/${gradedModel._id}`)],
      '404 model_not_found': [read(`/v1/models/${blocked.model._id}`)],
    },
    getModelCoverage: {
      ...readingOutcomes(scene, `${model}/coverage`),
      '200': [read(`${model}/coverage`), read(`${model}/coverage?days=90&version=`, plain.test)],
      '404 model_not_found': [read(`/v1/models/${blocked.model._id}/coverage`), read(`${model}/coverage?version=none`)],
      '422 bad_request': [read(`${model}/coverage?days=0`), read(`${model}/coverage?days=91`)],
    },
  };
}

/** Calls that provoke every reply of `/v1/scores/{crm_id}`. The erasing ones come last. */
export function historyOutcomes(scene: Scene): Readonly<Record<string, Outcomes>> {
  const { plain, service } = scene;
  const call = (method: 'GET' | 'DELETE', rest: string) => () =>
    httpCall(`${service.url()}/v1/scores/${rest}`, { method, secret: plain.live.secret });
  const known = encodeURIComponent(knownId);
  const nextPage = async () => {
    const first = await call('GET', `${known}?limit=2`)();
    const { next_cursor } = JSON.parse(first.text) as { readonly next_cursor: string };
    return await call('GET', `${known}?limit=2&cursor=${next_cursor}`)();
  };
  return {
    getScoreHistory: {
      ...readingOutcomes(scene, `/v1/scores/${known}`),
      '200': [call('GET', known), call('GET', `${known}?limit=2`), nextPage, call('GET', `${known}?model_id=none`)],
      '404 not_found': [call('GET', 'unknown')],
      '422 bad_request': [call('GET', `${known}?limit=0`), call('GET', `${known}?cursor=no`)],
    },
    eraseScores: {
      ...readingOutcomes(scene, `/v1/scores/${known}`, 'DELETE'),
      '204': [call('DELETE', known)],
      '404 not_found': [call('DELETE', 'unknown')],
    },
  };
}

/** Calls that provoke every reply of `POST /v1/outcomes`. */
export function outcomesOutcomes(scene: Scene): Outcomes {
  const { plain, readOnly, service } = scene;
  const path = '/v1/outcomes';
  const good = { crm_id: knownId, converted: true, at: '2026-03-01' };
  const report =
    (outcome: unknown, { secret }: UsableKey = plain.live) =>
    () =>
      httpCall(service.url() + path, { secret, body: { outcomes: [outcome] } });
  const provoked = readingOutcomes(scene, path, 'POST');
  return {
    ...provoked,
    '200': [report(good), report(good, plain.test), report(good, readOnly.live)],
    '400 bad_request': [...(provoked['400 bad_request'] ?? []), report({ ...good, at: 'soon' })],
    '422 bad_request': [report({ ...good, converted: 'yes' })],
  };
}

/** Calls that provoke every reply of `POST /v1/webhooks/outcome`. */
export function outcomeWebhookOutcomes(scene: Scene): Outcomes {
  const { plain, readOnly, service } = scene;
  const path = '/v1/webhooks/outcome';
  const good = { crm_id: knownId, outcome: 'won', at: '2026-03-01' };
  const report =
    (body: unknown, { secret }: UsableKey = plain.live) =>
    () =>
      httpCall(service.url() + path, { secret, body });
  const provoked = readingOutcomes(scene, path, 'POST');
  const action = (outcome: string) => ({ callbackId: path, object: { objectId: 7 }, inputFields: { outcome } });
  return {
    ...provoked,
    '200': [
      report(good),
      report({ ...good, crm_id: 'unknown' }),
      report({ ...good, outcome: 'Negotiation' }),
      report(action('lost')),
      report(action('Negotiation')),
      report(good, plain.test),
      report(action('won'), plain.test),
      report(good, readOnly.live),
    ],
    '400 bad_request': [...(provoked['400 bad_request'] ?? []), report({ ...good, at: 'soon' })],
    '422 bad_request': [report({ crm_id: knownId }), report({ outcome: 'won' })],
  };
}

/** Scores the known lead three times. */
export async function makeHistory({ plain }: Scene): Promise<void> {
  for (let time = 0; time < 3; time += 1) await plain.score([{ ...lead, crm_id: knownId }]);
}
