import { newSecret } from '../../../shared/contract/api-key.js';
import { type BadInput, type BadInputRig, goodBody, scoreCall, webhookCall } from './bad-input.js';

const basic = (user: string, password = ''): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

/** A call that would be scored but for what the header says. */
const authorized =
  (header: (rig: BadInputRig) => string): BadInput['call'] =>
  (rig) =>
    scoreCall(rig, goodBody(rig), { Authorization: header(rig) });

const without =
  (headers: (rig: BadInputRig) => Readonly<Record<string, string>> = () => ({}), path = '/v1/score') =>
  (rig: BadInputRig) => ({
    path,
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

/** 401: whatever is not a key that is in use. */
export const badKeys: readonly BadInput[] = (
  [
    ['no header', without(), /no API key/],
    ['an empty header', authorized(() => ''), /no API key/],
    ['Bearer alone', authorized(() => 'Bearer'), /must be "Bearer <API_KEY>"/],
    ['Bearer and a space', authorized(() => 'Bearer '), /must be "Bearer <API_KEY>"/],
    ['a key without Bearer', authorized(({ secret }) => secret), /must be "Bearer <API_KEY>"/],
    ['another scheme', authorized(({ secret }) => `Token ${secret}`), /must be "Bearer <API_KEY>"/],
    ['Basic on /v1/score', authorized(({ secret }) => basic(secret)), /must be "Bearer <API_KEY>"/],
    ['a key that nobody has', authorized(() => `Bearer ${newSecret('leadscore', 'live')}`), /unknown/],
    ['a test key that nobody has', authorized(() => `Bearer ${newSecret('leadscore', 'test')}`), /unknown/],
    ['a key of another brand', authorized(() => `Bearer ${newSecret('acme', 'live')}`), /malformed/],
    ['a revoked key', authorized(({ revokedSecret }) => `Bearer ${revokedSecret}`), /revoked/],
    ['a bad checksum', authorized(({ secret }) => `Bearer ${mistyped(secret)}`), /malformed/],
    ['a key of 10 kB', authorized(() => `Bearer ${longKey}`), /malformed/],
    ['a key that is not ASCII', authorized(() => 'Bearer leadscore_sk_ké\xff'), /malformed/],
    ['a key in quotes', authorized(({ secret }) => `Bearer "${secret}"`), /malformed/],
    ['a key and more', authorized(({ secret }) => `Bearer ${secret} please`), /must be "Bearer <API_KEY>"/],
    [
      'two keys',
      authorized(({ secret }) => `Bearer ${secret}, Bearer ${secret}`),
      /must be "Bearer <API_KEY>"/,
    ],
    ['an operator of MongoDB', authorized(() => 'Bearer {"$ne":null}'), /malformed/],
    [
      'a key in the query',
      (rig) => ({ ...without()(rig), path: `/v1/score?api_key=${rig.secret}&key=${rig.secret}` }),
      /no API key/,
    ],
    [
      'X-API-Key on /v1/score',
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
    ['no key when reading', () => ({ method: 'GET', path: '/v1/usage' }), /no API key/],
    ['no key when deleting', () => ({ method: 'DELETE', path: '/v1/scores/L-1' }), /no API key/],
    [
      'Basic when reading',
      ({ secret }) => ({ method: 'GET', path: '/v1/usage', headers: { Authorization: basic(secret) } }),
      /must be "Bearer <API_KEY>"/,
    ],
    ['a webhook without a key', toWebhook(() => ({})), webhookWays],
    ['a webhook with an empty X-API-Key', toWebhook(() => ({ 'X-API-Key': '' })), webhookWays],
    [
      'a webhook with a bad Bearer and a good X-API-Key',
      toWebhook(({ secret }) => ({ Authorization: 'Bearer no', 'X-API-Key': secret })),
      /malformed/,
    ],
    [
      'a webhook with an empty Bearer and a good X-API-Key',
      toWebhook(({ secret }) => ({ Authorization: 'Bearer', 'X-API-Key': secret })),
      /must be "Bearer <API_KEY>"/,
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
      'a webhook with a user name before the key',
      toWebhook(({ secret }) => ({ Authorization: basic('api', secret) })),
      /has the API key as its password: send it as the user name/,
    ],
    [
      'a webhook with Basic that is not base64',
      toWebhook(() => ({ Authorization: 'Basic %%%' })),
      /no API key that can be read in the Authorization header: send .*"X-API-Key: <API_KEY>"/,
    ],
    ['a webhook with a key of 10 kB', toWebhook(() => ({ 'X-API-Key': longKey })), /malformed/],
  ] satisfies [string, BadInput['call'], RegExp][]
).map(([name, call, says]) => ({ name, call, as: '401 invalid_api_key', says }));
