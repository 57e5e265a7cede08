import { type Clock, expiryText } from '../../shared/contract/dates.js';
import { ApiError } from '../../shared/contract/errors.js';
import { hashSecret, isSameText, parseSecret } from '../../shared/contract/identifiers.js';
import { type ApiKey, type ApiKeyStore, isExpired } from '../../shared/store/accounts/api-keys.js';
import { withMongoTimeout } from '../../shared/store/connection/connect.js';
import { FollowedCache } from '../../shared/store/connection/followed-cache.js';
import type { AuthAttempts } from './auth-attempts.js';
import type { Addressed } from './client-ip.js';

const maxReadMs = 3_000;
const maxKeyBytes = 32 * 1024 * 1024;
const bytesOfKey = 1_000; // with its names of some characters
const maxSecret = 200;
const bearer = /^bearer +(\S+) *$/i;

export interface AuthenticatorOptions {
  readonly keys: ApiKeyStore;
  readonly brand: string;
  readonly pepper: string;
  /** The pepper before, while another one is rolled out. */
  readonly previousPepper?: string | undefined;
  readonly unknownKeys: AuthAttempts;
  readonly clock: Clock;
  /** Whether the change log is followed; see `FollowedCache`. */
  readonly isFollowing?: () => boolean;
  /** Timeout of a look-up, at most and by default 3,000 ms. */
  readonly timeoutMs?: number;
}

interface HashedSecret {
  readonly secret: string;
  /** The hash, a space, and the hash with the previous pepper if there is one. */
  readonly hashes: string;
}

/** Thrown instead of returning undefined, because the cache would then keep a stale entry. */
class UnknownKey extends Error {}

/**
 * Finds the key for a secret. Form and checksum are checked without a look-up. Found keys are cached until
 * the change log or an announcement says that they have changed. Their expiry is compared in each call.
 *
 * While a pepper is rolled out, a key is looked up by both hashes of its secret. An announcement may name either. A key
 * that has only the hash with the previous pepper gets the new one.
 */
export class Authenticator {
  /** By `HashedSecret.hashes`. */
  private readonly cache: FollowedCache<ApiKey>;
  /** Entries that are being read: the cache does not name them. */
  private readonly reading = new Set<string>();
  /** Hashes of changed keys that the next look-up drops, while a pepper is rolled out. */
  private readonly forgotten = new Set<string>();
  /** The last secret of each open connection. Most connections send the same one in every call. */
  private readonly lastOf = new WeakMap<Addressed['socket'], HashedSecret>();

  constructor(private readonly options: AuthenticatorOptions) {
    const timeoutMs = Math.min(maxReadMs, options.timeoutMs ?? maxReadMs);
    this.cache = new FollowedCache({
      maxBytes: maxKeyBytes,
      bytesOf: ({ name }) => bytesOfKey + 2 * name.length,
      isFollowing: options.isFollowing,
      read: async (hashes) => {
        this.reading.add(hashes);
        try {
          return await this.read(hashes.split(' '), timeoutMs);
        } finally {
          this.reading.delete(hashes);
        }
      },
    });
  }

  /**
   * The key in the Authorization header.
   * @throws ApiError invalidApiKey for a missing, malformed, withdrawn, revoked, expired or unknown key; rateLimited
   * after too many unknown keys from the same address
   */
  async authenticate(request: Addressed): Promise<ApiKey> {
    const { authorization, 'x-api-key': elsewhere } = request.headers;
    if (authorization === undefined || authorization === '') {
      const notHere = elsewhere === undefined ? '' : '; X-API-Key is for webhooks alone';
      throw invalid(`There is no API key: send "Authorization: Bearer <API_KEY>"${notHere}.`);
    }
    const secret = bearer.exec(authorization.slice(0, maxSecret + 'bearer '.length))?.[1];
    if (secret === undefined) throw invalid('The Authorization header must be "Bearer <API_KEY>".');
    return await this.find(secret, request);
  }

  /**
   * The key with this secret.
   * @throws ApiError invalidApiKey, rateLimited, as `authenticate`
   */
  async find(secret: string, request: Addressed): Promise<ApiKey> {
    const hashes = this.hashesOf(secret, request);
    this.dropForgotten();
    const lookUp = () =>
      this.cache.get(hashes).catch((error: unknown) => {
        if (!(error instanceof UnknownKey)) throw error;
        return undefined;
      });
    // A key in use never waits for other calls from its address.
    const key = await (this.cache.has(hashes) ? lookUp() : this.options.unknownKeys.find(request, hashes, lookUp));
    if (key === undefined) throw invalid('The API key is unknown.');
    if (key.withdrawn) throw invalid('The organisation of the API key is being deleted.');
    if (key.revoked_at !== undefined) throw invalid('The API key has been revoked.');
    if (key.expires_at === undefined || !isExpired(key, this.options.clock.now())) return key;
    throw invalid(`The API key expired ${expiryText(key.expires_at)}. An administrator can set a later date.`);
  }

  /** Drops a key from the cache. @param hash with either pepper */
  forget(hash: string): void {
    if (this.options.previousPepper === undefined) this.cache.forget(hash);
    else this.forgotten.add(hash);
  }

  invalidateAll(): void {
    this.forgotten.clear();
    this.cache.clear();
  }

  /** One walk for many changes: the deletion of an organisation changes all its keys, and a walk takes some 20 ms. */
  private dropForgotten(): void {
    if (this.forgotten.size === 0) return;
    for (const hashes of [...this.cache.keys(), ...this.reading])
      if (hashes.split(' ').some((hash) => this.forgotten.has(hash))) this.cache.forget(hashes);
    this.forgotten.clear();
  }

  private async read(hashes: readonly string[], timeoutMs: number): Promise<ApiKey> {
    const { keys, pepper } = this.options;
    const key = await withMongoTimeout(timeoutMs, () => keys.findByHash(...hashes));
    if (key === undefined) throw new UnknownKey();
    const stored = [key.hash, ...(key.previous_hash === undefined ? [] : [key.previous_hash])];
    const isOneOf = (hash: string): boolean => stored.some((each) => isSameText(each, hash));
    if (!hashes.some(isOneOf)) throw new UnknownKey();
    const [own = ''] = hashes;
    // A renewal that fails is repeated after the next read, in some minutes.
    if (!isOneOf(own) && key.revoked_at === undefined) keys.renew(key, own, pepper).catch(() => undefined);
    return key;
  }

  /**
   * The hashes of a secret. Computed once for a connection that repeats its secret.
   * @throws ApiError invalidApiKey when the secret is malformed
   */
  private hashesOf(secret: string, { socket }: Addressed): string {
    const last = this.lastOf.get(socket);
    if (last?.secret === secret) return last.hashes;
    const { brand, pepper, previousPepper } = this.options;
    if (parseSecret(secret, brand) === undefined) {
      throw invalid(
        secret.startsWith(`${brand}_sk_`)
          ? 'The API key is malformed: check that it was copied whole.'
          : `The API key is malformed: it does not begin with ${brand}_sk_. Send the key alone, ` +
              'with nothing before it.',
      );
    }
    const own = hashSecret(secret, pepper);
    const hashes = previousPepper === undefined ? own : `${own} ${hashSecret(secret, previousPepper)}`;
    this.lastOf.set(socket, { secret, hashes });
    return hashes;
  }
}

const invalid = (message: string): ApiError => new ApiError('invalidApiKey', message);

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
    throw invalid('HTTP Basic has the API key as its password: send it as the user name.');
  }
  return await keys.find(user, request);
}

/** Whether a text looks like an API key of any brand. */
const isLikeKey = (text: string): boolean => text.includes('_sk_');

/** The error for a webhook without a key. Lists all ways to send one. */
function noKey(authorization: string): ApiError {
  const ways = '"Authorization: Bearer <API_KEY>", "X-API-Key: <API_KEY>", or HTTP Basic with the key as the user name';
  const where = authorization === '' ? '' : ' that can be read in the Authorization header';
  return invalid(`There is no API key${where}: send ${ways}.`);
}
