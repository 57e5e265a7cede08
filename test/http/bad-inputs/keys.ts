import { newSecret } from '../../../shared/contract/identifiers.js';
import { type BadInput, goodBody, rowsAs, scoreCall, webhookCall } from './bad-input.js';
import type { BadInputRig } from './rig.js';

const basic = (user: string, password = ''): string => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

/** A valid call with another Authorization header. */
const authorized =
  (header: (rig: BadInputRig) => string): BadInput['call'] =>
  (rig) =>
    scoreCall(rig, goodBody(rig), { Authorization: header(rig) });

/** A valid call without an Authorization header. */
const without =
  (headers: (rig: BadInputRig) => Readonly<Record<string, string>> = () => ({})) =>
  (rig: BadInputRig) => ({
    path: '/v1/score',
    headers: { 'Content-Type': 'application/json', ...headers(rig) },
    body: JSON.stringify(goodBody(rig)),
  });

const toWebhook =
  (headers: (rig: BadInputRig) => Readonly<Record<string, string>>): BadInput['call'] =>
  (rig) => ({
    ...webhookCall(rig, ''),
    headers: { 'Content-Type': 'application/json', ...headers(rig) },
    body: JSON.stringify({ model_id: rig.own.model._id, company_size: 5 }),
  });

const mistyped = (secret: string): string => secret.slice(0, -1) + (secret.endsWith('0') ? '1' : '0');
const webhookWays =
  /There is no API key: send "Authorization: Bearer <API_KEY>", "X-API-Key: <API_KEY>", or HTTP Basic with the key as/;
const longKey = 'k'.repeat(10_000);
const notBearer = /must be "Bearer <API_KEY>"/;

/** 401 of `POST /v1/score`. */
export const badScoreKeys = rowsAs('401 invalid_api_key', [
  ['no Authorization header', without(), /no API key/],
  ['an empty Authorization header', authorized(() => ''), /no API key/],
  ['Bearer without a key', authorized(() => 'Bearer'), notBearer],
  ['Bearer with a space and no key', authorized(() => 'Bearer '), notBearer],
  ['a key without Bearer', authorized(({ secret }) => secret), notBearer],
  ['an unknown scheme', authorized(({ secret }) => `Token ${secret}`), notBearer],
  ['Basic authentication', authorized(({ secret }) => basic(secret)), notBearer],
  ['an unknown live key', authorized(() => `Bearer ${newSecret('leadscore', 'live')}`), /unknown/],
  ['an unknown test key', authorized(() => `Bearer ${newSecret('leadscore', 'test')}`), /unknown/],
  ['a key of another brand', authorized(() => `Bearer ${newSecret('acme', 'live')}`), /malformed/],
  ['a revoked key', authorized(({ revokedSecret }) => `Bearer ${revokedSecret}`), /revoked/],
  ['a key with a wrong checksum', authorized(({ secret }) => `Bearer ${mistyped(secret)}`), /malformed/],
  ['a key of 10 kB', authorized(() => `Bearer ${longKey}`), /malformed/],
  ['a key that is not ASCII', authorized(() => 'Bearer leadscore_sk_ké\xff'), /malformed/],
  ['a key in quotes', authorized(({ secret }) => `Bearer "${secret}"`), /malformed/],
  ['a key followed by a word', authorized(({ secret }) => `Bearer ${secret} please`), notBearer],
  ['two keys', authorized(({ secret }) => `Bearer ${secret}, Bearer ${secret}`), notBearer],
  ['a MongoDB operator as the key', authorized(() => 'Bearer {"$ne":null}'), /malformed/],
  [
    'a key in the query',
    (rig) => ({ ...without()(rig), path: `/v1/score?api_key=${rig.secret}&key=${rig.secret}` }),
    /no API key/,
  ],
  [
    'a key in X-API-Key',
    without(({ secret }) => ({ 'X-API-Key': secret })),
    /no API key: send "Authorization: Bearer <API_KEY>"; X-API-Key is for webhooks alone\.$/,
  ],
  ['a bad key with a bad body', (rig) => scoreCall(rig, '{', { Authorization: 'Bearer no' }), /malformed/],
  [
    'a bad key with a bad content type and encoding',
    (rig) =>
      scoreCall(rig, 'x', {
        Authorization: 'Bearer no',
        'Content-Type': 'image/png',
        'Content-Encoding': 'br',
      }),
    /malformed/,
  ],
  [
    'a bad key with a body over the limit',
    (rig) => scoreCall(rig, Buffer.alloc(9 * 1024 * 1024, 'x'), { Authorization: 'Bearer no' }),
    /malformed/,
  ],
]);

/** 401 of `GET /v1/usage`. */
export const badUsageKeys = rowsAs('401 invalid_api_key', [
  ['GET /v1/usage without a key', () => ({ method: 'GET', path: '/v1/usage' }), /no API key/],
  [
    'GET /v1/usage with Basic authentication',
    ({ secret }) => ({ method: 'GET', path: '/v1/usage', headers: { Authorization: basic(secret) } }),
    notBearer,
  ],
]);

/** 401 of `DELETE /v1/scores/{crm_id}`. */
export const badScoresKeys = rowsAs('401 invalid_api_key', [
  ['DELETE /v1/scores/L-1 without a key', () => ({ method: 'DELETE', path: '/v1/scores/L-1' }), /no API key/],
]);

/** 401 of `POST /v1/webhooks/score`. */
export const badWebhookKeys = rowsAs('401 invalid_api_key', [
  ['a webhook without a key', toWebhook(() => ({})), webhookWays],
  ['a webhook with an empty X-API-Key', toWebhook(() => ({ 'X-API-Key': '' })), webhookWays],
  [
    'a webhook with a bad Bearer and a valid X-API-Key',
    toWebhook(({ secret }) => ({ Authorization: 'Bearer no', 'X-API-Key': secret })),
    /malformed/,
  ],
  [
    'a webhook with an empty Bearer and a valid X-API-Key',
    toWebhook(({ secret }) => ({ Authorization: 'Bearer', 'X-API-Key': secret })),
    notBearer,
  ],
  [
    'a webhook with Bearer in X-API-Key',
    toWebhook(({ secret }) => ({ 'X-API-Key': `Bearer ${secret}` })),
    /malformed: it does not begin with leadscore_sk_\. Send the key alone/,
  ],
  [
    'a webhook with Basic and an unknown user',
    toWebhook(() => ({ Authorization: basic('admin', 'admin') })),
    /malformed/,
  ],
  [
    'a webhook with the key as the password',
    toWebhook(({ secret }) => ({ Authorization: basic('', secret) })),
    /has the API key as its password: send it as the user name/,
  ],
  [
    'a webhook with the key as the password of a user name',
    toWebhook(({ secret }) => ({ Authorization: basic('api', secret) })),
    /has the API key as its password: send it as the user name/,
  ],
  [
    'a webhook with Basic that is not base64',
    toWebhook(() => ({ Authorization: 'Basic %%%' })),
    /no API key that can be read in the Authorization header: send .*"X-API-Key: <API_KEY>"/,
  ],
  ['a webhook with a key of 10 kB', toWebhook(() => ({ 'X-API-Key': longKey })), /malformed/],
]);
