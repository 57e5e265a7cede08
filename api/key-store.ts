import type { IncomingHttpHeaders } from 'node:http';
import { hashSecret, parseSecret } from '../shared/api-key.js';
import { ApiError } from '../shared/errors.js';
import type { ApiKey, ApiKeyStore } from '../shared/store/api-keys.js';
import { inTime } from '../shared/store/in-time.js';
import { ShortCache } from './short-cache.js';

const rememberedMs = 5_000;
const longestReadMs = 3_000;
const rememberedKeys = 10_000;
const longestSecret = 200;
const bearer = /^bearer +(\S+) *$/i;

export interface KeyStoreOptions {
  readonly keys: ApiKeyStore;
  readonly brand: string;
  readonly pepper: string;
  /** The longest look-up, in ms; three seconds when left out. */
  readonly timeoutMs?: number;
}

/**
 * Finds the key that a caller holds: its form and checksum first, without a look-up, then its hash, remembered for at
 * most five seconds and forgotten at once when the key is revoked.
 */
export class KeyStore {
  private readonly cache: ShortCache<ApiKey | undefined>;

  constructor(private readonly options: KeyStoreOptions) {
    const timeoutMs = Math.min(longestReadMs, options.timeoutMs ?? longestReadMs);
    this.cache = new ShortCache({
      ttlMs: rememberedMs,
      capacity: rememberedKeys,
      load: (hash) => inTime(timeoutMs, () => options.keys.findByHash(hash)),
    });
  }

  /**
   * The key in the Authorization header.
   * @throws ApiError invalidApiKey when it is missing, malformed, revoked or unknown
   */
  async authenticate(headers: IncomingHttpHeaders): Promise<ApiKey> {
    const { authorization } = headers;
    if (authorization === undefined || authorization === '') {
      throw invalid('There is no API key: send "Authorization: Bearer <API_KEY>".');
    }
    const secret = bearer.exec(authorization.slice(0, longestSecret + 'bearer '.length))?.[1];
    if (secret === undefined) throw invalid('The Authorization header must be "Bearer <API_KEY>".');
    return await this.find(secret);
  }

  /**
   * The key with this secret.
   * @throws ApiError invalidApiKey
   */
  async find(secret: string): Promise<ApiKey> {
    const { brand, pepper } = this.options;
    if (parseSecret(secret, brand) === undefined) {
      throw invalid('The API key is malformed: check that it was copied whole.');
    }
    const key = await this.cache.get(hashSecret(secret, pepper));
    if (key === undefined) throw invalid('The API key is unknown.');
    if (key.revoked_at !== undefined) throw invalid('The API key has been revoked.');
    return key;
  }

  /** Forgets a key, by its hash. */
  forget(hash: string): void {
    this.cache.forget(hash);
  }

  forgetAll(): void {
    this.cache.clear();
  }
}

const invalid = (message: string): ApiError => new ApiError('invalidApiKey', message);
