import { ApiError } from '../../shared/contract/errors.js';
import type { ApiKey } from '../../shared/store/accounts/api-keys.js';
import type { Authenticator } from './authenticate.js';
import type { Addressed } from './client-ip.js';

const basic = /^basic +([A-Za-z0-9+/=_-]+) *$/i;

/**
 * Finds the key of a webhook in the first of these: `Authorization: Bearer`, `X-API-Key`, the user name of HTTP Basic.
 * Pipedrive can send only the last.
 * @throws ApiError invalidApiKey, rateLimited
 */
export async function authenticateWebhook(request: Addressed, keys: Authenticator): Promise<ApiKey> {
  const { headers } = request;
  const authorization = headers.authorization ?? '';
  if (/^bearer( |$)/i.test(authorization)) return await keys.authenticate(request);
  const apiKey = headers['x-api-key'];
  if (typeof apiKey === 'string' && apiKey !== '') return await keys.find(apiKey.trim(), request);
  const credentials = basic.exec(authorization)?.[1];
  if (credentials === undefined) throw noKey(authorization);
  const [user = '', password = ''] = Buffer.from(credentials, 'base64').toString('utf8').split(':');
  if (isLikeKey(password) && !isLikeKey(user)) {
    throw new ApiError('invalidApiKey', 'HTTP Basic has the API key as its password: send it as the user name.');
  }
  return await keys.find(user, request);
}

/** Whether a text looks like an API key of any brand. */
const isLikeKey = (text: string): boolean => text.includes('_sk_');

/** The error for a webhook without a key. Lists all ways to send one. */
function noKey(authorization: string): ApiError {
  const ways = '"Authorization: Bearer <API_KEY>", "X-API-Key: <API_KEY>", or HTTP Basic with the key as the user name';
  return new ApiError(
    'invalidApiKey',
    authorization === ''
      ? `There is no API key: send ${ways}.`
      : `There is no API key that can be read in the Authorization header: send ${ways}.`,
  );
}
