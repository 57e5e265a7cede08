import type { ClientSession, Collection, Db } from 'mongodb';
import { everyKey } from '../../redis/changes.js';
import { logged } from '../connection/change-log.js';
import { inSession } from '../connection/transaction.js';
import type { ApiKey } from './api-keys.js';

const unrevoked = { revoked_at: { $exists: false } } as const;

/** How far the keys have come while a new pepper is rolled out. Revoked keys do not count. */
export class KeyPeppers {
  private readonly collection: Collection<ApiKey>;

  /** @param session a transaction in which all calls take part */
  constructor(
    private readonly database: Db,
    private readonly session?: ClientSession,
  ) {
    this.collection = database.collection<ApiKey>('api_keys');
  }

  /** The number of keys that have a hash with this pepper. */
  async countWith(fingerprint: string): Promise<number> {
    return await this.collection.countDocuments(
      { pepper_fingerprint: fingerprint, ...unrevoked },
      inSession(this.session),
    );
  }

  /** The keys that have no hash with this pepper, oldest first. */
  async without(fingerprint: string): Promise<ApiKey[]> {
    const lacking = { pepper_fingerprint: { $ne: fingerprint }, ...unrevoked };
    return await this.collection.find(lacking, inSession(this.session)).sort({ created_at: 1 }).toArray();
  }

  /**
   * Drops the hashes with the previous pepper, and revokes keys that have no other.
   * @param fingerprint of the pepper that stays
   * @param revoked keys that have no hash with it
   */
  async keepNew(fingerprint: string, revoked: readonly ApiKey[], now: Date): Promise<void> {
    await this.change(async (session) => {
      const ids = revoked.map(({ _id }) => _id);
      await this.collection.updateMany({ _id: { $in: ids } }, { $set: { revoked_at: now } }, { session });
      const both = { pepper_fingerprint: fingerprint, previous_hash: { $exists: true } };
      await this.collection.updateMany(both, { $unset: { previous_hash: 1 } }, { session });
    });
  }

  /**
   * Goes back to the hashes with the previous pepper, which all keys have.
   * @param fingerprint of the pepper that goes
   */
  async keepPrevious(fingerprint: string): Promise<void> {
    await this.change(async (session) => {
      const both = { pepper_fingerprint: fingerprint, previous_hash: { $exists: true } };
      const back = [{ $set: { hash: '$previous_hash' } }, { $unset: ['previous_hash', 'pepper_fingerprint'] }];
      await this.collection.updateMany(both, back, { session });
    });
  }

  /** One entry of the change log for all keys: gateways drop them, and a key that is gone is found no more. */
  private async change(write: (session: ClientSession) => Promise<void>): Promise<void> {
    const writeAll = async (session: ClientSession) => {
      await write(session);
      return { result: undefined, change: { kind: 'key', id: everyKey } as const };
    };
    await logged(this.database, writeAll, this.session);
  }
}
