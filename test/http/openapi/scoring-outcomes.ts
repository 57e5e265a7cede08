import { type HttpReply, httpCall } from '../../support/http/http-call.js';
import type { TestWorkspace } from '../../support/service/workspace.js';
import type { UsableKey } from '../../support/service/workspace-parts.js';
import { lead, type Scene, usedUp, withHugeHeader } from './provoked-outcomes.js';

/** Calls by the outcome that they provoke: `<status>` or `<status> <code>`. */
export type Outcomes = Readonly<Record<string, readonly (() => Promise<HttpReply>)[]>>;

interface Call {
  readonly of?: TestWorkspace;
  readonly key?: UsableKey;
  readonly modelId?: string;
  readonly fields?: unknown;
  readonly extra?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Calls that provoke every reply of a batch endpoint. */
export function batchOutcomes(scene: Scene, path: string): Outcomes {
  const url = () => scene.service.url() + path;
  const send = ({ of = scene.plain, key = of.live, modelId, fields = lead, extra, headers }: Call = {}) =>
    httpCall(url(), {
      secret: key.secret,
      headers,
      body: { model_id: modelId ?? of.model._id, records: [fields], ...extra },
    });
  const tooMany = Array.from({ length: 1001 }, () => lead);
  return {
    ...scoringOutcomes(scene, { path, url, send }),
    '400 record_limit_exceeded': [() => send({ extra: { records: tooMany } })],
  };
}

/** Calls that provoke every reply of a webhook endpoint. */
export function webhookOutcomes(scene: Scene, path: string): Outcomes {
  const { plain, service } = scene;
  const url = () => service.url() + path;
  const send = ({ of = plain, key = of.live, modelId, fields = lead, extra, headers }: Call = {}) =>
    httpCall(url(), {
      secret: key.secret,
      headers,
      body: { model_id: modelId ?? of.model._id, record: fields, ...extra },
    });
  const withQuery = () => `${url()}?model_id=${plain.model._id}&explain=1`;
  const { secret } = plain.live;
  const outcomes = scoringOutcomes(scene, { path, url, send });
  return {
    ...outcomes,
    '200': [
      ...(outcomes['200'] ?? []),
      () => httpCall(withQuery(), { headers: { 'x-api-key': secret }, body: { Id: '00Q1', ...lead } }),
      () => httpCall(withQuery(), { headers: { authorization: basic(secret) }, body: { properties: lead } }),
      () => httpCall(withQuery(), { secret, body: { callbackId: path, inputFields: lead } }),
      () => httpCall(withQuery(), { secret, body: { meta: {}, data: { id: 7, ...lead } } }),
      () => httpCall(withQuery(), { secret, body: 'company_size=120', headers: { 'content-type': formType } }),
      () =>
        httpCall(withQuery(), {
          secret,
          body: JSON.stringify(lead),
          headers: { 'content-type': 'text/plain' },
        }),
    ],
  };
}

const formType = 'application/x-www-form-urlencoded';
const basic = (secret: string): string => `Basic ${Buffer.from(`${secret}:`).toString('base64')}`;

function scoringOutcomes(
  scene: Scene,
  to: {
    readonly path: string;
    readonly url: () => string;
    readonly send: (call?: Call) => Promise<HttpReply>;
  },
): Outcomes {
  const { plain, readOnly, suspended, free, blocked, disabledModel, usedUpKey, brokenKey } = scene;
  const { path, url, send } = to;
  const known = { ...lead, crm_id: path };
  const replayed = { headers: { 'idempotency-key': path } };
  return {
    '200': [
      () => send(),
      () => send({ fields: known }),
      () => send({ fields: { ...known, company_size: 10 } }),
      () => send({ key: plain.test }),
      () => send({ extra: { explain: true } }),
      () => send({ fields: { ...known, company_sise: 1 }, extra: { input_report: 'records' } }),
      () => send({ fields: { company_size: 'x', lead_source: 'Fax' }, extra: { input_report: 'summary' } }),
      () => send(replayed),
      () => send(replayed),
    ],
    '400 bad_request': [
      () => send({ fields: { company_size: {} } }),
      () => send({ fields: {} }),
      () => withHugeHeader(url(), 'POST'),
    ],
    '401 invalid_api_key': [() => httpCall(url(), {}), () => httpCall(url(), { secret: 'wrong' })],
    '402 workspace_suspended': [() => send({ of: suspended })],
    '402 expired_read_only': [() => send({ of: readOnly })],
    '403 api_disabled': [() => send({ modelId: disabledModel._id })],
    '404 model_not_found': [() => send({ modelId: blocked.model._id })],
    '409 deploy_blocked': [() => send({ of: blocked })],
    '422 bad_request': [() => httpCall(url(), { secret: plain.live.secret, body: '{' })],
    '429 rate_limited': [() => usedUp(() => send({ key: usedUpKey }))],
    '429 quota_exceeded': [() => send({ of: free })],
    '500 internal_error': [() => send({ key: brokenKey })],
  };
}
