import type { ClientSession, Collection, Db } from 'mongodb';
import { hashSecret, type KeyKind, newId, newSecret } from '../../contract/identifiers.js';
import type { Scope } from '../../contract/roles.js';
import type { Change } from '../../redis/changes.js';
import { logged } from '../connection/change-log.js';
import { inSession } from '../connection/transaction.js';
import { fingerprintOf, type KeySettings } from './key-settings.js';

/** One document of `api_keys`. The secret is not stored. */
export interface ApiKey {
  readonly _id: string;
  /** HMAC-SHA256 of the secret, base64url; unique. */
  readonly hash: string;
  /** The hash with the pepper of before, while a new pepper is rolled out; unique. */
  readonly previous_hash?: string;
  /** See `fingerprintOf`: the pepper of `hash`. Absent on keys that were made while no pepper was rolled out. */
  readonly pepper_fingerprint?: string;
  readonly organisation_id: string;
  readonly kind: KeyKind;
  readonly name: string;
  /** Scoring calls accepted in any second. */
  readonly rate_per_second: number;
  /** The rights of the key. Absent: all. */
  readonly scopes?: readonly Scope[];
  readonly created_at: Date;
  /** From this instant on, calls with the key are refused. Absent: it has no end. */
  readonly expires_at?: Date;
  readonly revoked_at?: Date;
  /** The organisation is to be deleted, and calls with the key are refused. */
  readonly withdrawn?: true;
}

/** Whether a key has expired. */
export const isExpired = ({ expires_at: at }: Pick<ApiKey, 'expires_at'>, nowMs: number): boolean =>
  at !== undefined && at.getTime() <= nowMs;

/** The changes to announce for a key: a gateway with either pepper drops it. */
export const changesOfKey = ({ hash, previous_hash: previous }: Pick<ApiKey, 'hash' | 'previous_hash'>): Change[] =>
  [hash, ...(previous === undefined ? [] : [previous])].map((id) => ({ kind: 'key', id }));

/** The hashes by which a secret is looked up, its own first. */
export const secretHashes = (secret: string, { pepper, previousPepper }: KeySettings): string[] =>
  [pepper, previousPepper].flatMap((each) => (each === undefined ? [] : [hashSecret(secret, each)]));

/** The members of a key that hold its hashes: with both peppers, if there is a previous one. */
const keyHashes = (
  secret: string,
  { pepper, previousPepper }: KeySettings,
): Pick<ApiKey, 'hash' | 'previous_hash' | 'pepper_fingerprint'> => ({
  hash: hashSecret(secret, pepper),
  ...(previousPepper !== undefined && {
    previous_hash: hashSecret(secret, previousPepper),
    pepper_fingerprint: fingerprintOf(pepper),
  }),
});

/** A change of a key. Absent members stay, and null removes a limit. */
export interface KeyChange {
  readonly name?: string | undefined;
  readonly rate_per_second?: number | undefined;
  readonly scopes?: readonly Scope[] | null | undefined;
  readonly expires_at?: Date | null | undefined;
}

/** Which keys are wanted, of those that are neither revoked nor expired. */
interface ValidKeysQuery {
  readonly createdUntil: Date;
  readonly now: Date;
  readonly most: number;
}

export const defaultRatePerSecond = 10;

export interface NewApiKey extends KeySettings {
  readonly organisationId: string;
  readonly kind: KeyKind;
  readonly name: string;
  readonly ratePerSecond: number;
  /** Without it, the key may do everything. */
  readonly scopes?: readonly Scope[] | undefined;
  /** Without it, the key has no end. */
  readonly expiresAt?: Date | undefined;
  readonly now: Date;
}

/** The API keys, looked up by the hash of their secret. */
export class ApiKeyStore {
  private readonly collection: Collection<ApiKey>;

  /** @param session a transaction in which all calls take part */
  constructor(
    private readonly database: Db,
    private readonly session?: ClientSession,
  ) {
    this.collection = database.collection<ApiKey>('api_keys');
  }

  async prepare(): Promise<void> {
    await this.collection.createIndex({ hash: 1 }, { unique: true });
    await this.collection.createIndex({ organisation_id: 1, created_at: 1 });
  }

  /** A gateway with either pepper finds a key while a new pepper is rolled out. */
  async preparePrevious(): Promise<void> {
    await this.collection.createIndex({ previous_hash: 1 }, { unique: true, sparse: true });
  }

  /** Creates a key, with both hashes if there is a previous pepper. The secret cannot be read again later. */
  async create(key: NewApiKey): Promise<{ key: ApiKey; secret: string }> {
    const secret = newSecret(key.brand, key.kind);
    const document: ApiKey = {
      _id: newId('key'),
      ...keyHashes(secret, key),
      organisation_id: key.organisationId,
      kind: key.kind,
      name: key.name,
      rate_per_second: key.ratePerSecond,
      ...(key.scopes !== undefined && { scopes: key.scopes }),
      created_at: key.now,
      ...(key.expiresAt !== undefined && { expires_at: key.expiresAt }),
    };
    await this.collection.insertOne(document, inSession(this.session));
    return { key: document, secret };
  }

  /** Finds a key by one of the hashes of its secret, including revoked keys. */
  async findByHash(...hashes: readonly string[]): Promise<ApiKey | undefined> {
    const among = { $in: [...hashes] };
    return (await this.collection.findOne({ $or: [{ hash: among }, { previous_hash: among }] })) ?? undefined;
  }

  /**
   * Stores the hash of a key with a new pepper, and keeps the one of before. A revoked key stays as it is. Gateways
   * cache the same of the key as before, so this is no change for the change log.
   * @param hash the one of before
   */
  async renew({ _id, hash }: Pick<ApiKey, '_id' | 'hash'>, newHash: string, pepper: string): Promise<void> {
    const members = { hash: newHash, previous_hash: hash, pepper_fingerprint: fingerprintOf(pepper) };
    await this.collection.updateOne({ _id, hash, revoked_at: { $exists: false } }, { $set: members });
  }

  /** Changes a key that is not revoked. Undefined if there is no such key. */
  async set(keyId: string, change: KeyChange): Promise<ApiKey | undefined> {
    const members = Object.entries(change);
    const set = members.filter(([, value]) => value !== undefined && value !== null);
    const removed = members.flatMap(([name, value]) => (value === null ? [[name, 1 as const]] : []));
    // MongoDB refuses an operator without fields.
    const update = {
      ...(set.length === 0 ? {} : { $set: Object.fromEntries(set) }),
      ...(removed.length === 0 ? {} : { $unset: Object.fromEntries(removed) }),
    };
    const write = async (session: ClientSession) => {
      const options = { returnDocument: 'after', session } as const;
      const unrevoked = { _id: keyId, revoked_at: { $exists: false } };
      const result = (await this.collection.findOneAndUpdate(unrevoked, update, options)) ?? undefined;
      return { result, change: result && changesOfKey(result) };
    };
    return await logged(this.database, write, this.session);
  }

  /** Revokes a key for ever; a second revocation keeps the first time. Undefined if there is no such key. */
  async revoke(keyId: string, now: Date): Promise<ApiKey | undefined> {
    const write = async (session: ClientSession) => {
      const unrevoked = { _id: keyId, revoked_at: { $exists: false } };
      await this.collection.updateOne(unrevoked, { $set: { revoked_at: now } }, { session });
      const result = (await this.collection.findOne({ _id: keyId }, { session })) ?? undefined;
      return { result, change: result && changesOfKey(result) };
    };
    return await logged(this.database, write, this.session);
  }

  /**
   * Withdraws all keys of an organisation, or gives them back.
   * @returns the changes, for running processes
   */
  async setWithdrawn(organisationId: string, isWithdrawn: boolean): Promise<readonly Change[]> {
    const keys = { organisation_id: organisationId };
    const update = isWithdrawn ? { $set: { withdrawn: true as const } } : { $unset: { withdrawn: 1 as const } };
    const write = async (session: ClientSession) => {
      await this.collection.updateMany(keys, update, { session });
      const result = (await this.collection.find(keys, { session }).toArray()).flatMap(changesOfKey);
      return { result, change: result };
    };
    return await logged(this.database, write, this.session);
  }

  /** Finds a key by its id, including revoked keys. */
  async find(keyId: string): Promise<ApiKey | undefined> {
    return (await this.collection.findOne({ _id: keyId }, inSession(this.session))) ?? undefined;
  }

  /** All revoked keys. */
  revoked(): AsyncIterable<ApiKey> {
    return this.collection.find({ revoked_at: { $exists: true } });
  }

  /** All keys in use that may not do everything, or not for ever. */
  limited(): AsyncIterable<ApiKey> {
    const limits = [{ scopes: { $exists: true } }, { expires_at: { $exists: true } }];
    return this.collection.find({ revoked_at: { $exists: false }, $or: limits });
  }

  /** The oldest valid keys of an organisation, of those that were created until an instant. */
  validSince(organisationId: string, { createdUntil, now, most }: ValidKeysQuery): Promise<ApiKey[]> {
    const filter = {
      organisation_id: organisationId,
      created_at: { $lte: createdUntil },
      revoked_at: { $exists: false },
      $or: [{ expires_at: { $exists: false } }, { expires_at: { $gt: now } }],
    };
    return this.collection.find(filter).sort({ created_at: 1 }).limit(most).toArray();
  }

  /** The keys of an organisation, oldest first. */
  list(organisationId: string): Promise<ApiKey[]> {
    return this.collection.find({ organisation_id: organisationId }).sort({ created_at: 1 }).toArray();
  }
}
