import type { Collection, Db } from 'mongodb';
import { hashSecret } from '../api-key.js';
import { inTime } from './in-time.js';

/** What API keys are made with; a process that has other ones does not know the keys of another. */
export interface KeySettings {
  /** `KEY_BRAND` */
  readonly brand: string;
  /** `KEY_PEPPER` */
  readonly pepper: string;
}

/** The one document of `settings`: what the gateway that started last knows keys by. */
interface StoredKeySettings {
  readonly _id: 'keys';
  readonly brand: string;
  /** See `fingerprintOf`. */
  readonly pepper_fingerprint: string;
}

/** A setting that is another here than in the database, by the name of its variable. */
export type KeySettingName = 'KEY_BRAND' | 'KEY_PEPPER';

const timeoutMs = 5_000;
const filter = { _id: 'keys' } as const;

/** The settings of keys that are in use on a database, the pepper as a fingerprint that does not give it away. */
export class KeySettingsStore {
  private readonly collection: Collection<StoredKeySettings>;

  constructor(database: Db) {
    this.collection = database.collection<StoredKeySettings>('settings');
  }

  /**
   * Takes down what a gateway knows keys by, in place of what was there.
   * @returns what was another before: keys that were made with it are unknown to this gateway
   * @throws what MongoDB says, within five seconds
   */
  async replace(settings: KeySettings): Promise<KeySettingName[]> {
    const own = stored(settings);
    const before = await inTime(timeoutMs, () =>
      this.collection.findOneAndUpdate(filter, { $set: own }, { upsert: true, returnDocument: 'before' }),
    );
    return before === null ? [] : differences(before, own);
  }

  /**
   * Compares with what is in use; takes it down where nothing is yet.
   * @returns what is another
   * @throws what MongoDB says, within five seconds
   */
  async compare(settings: KeySettings): Promise<KeySettingName[]> {
    const own = stored(settings);
    const inUse = await inTime(timeoutMs, () =>
      this.collection.findOneAndUpdate(
        filter,
        { $setOnInsert: own },
        { upsert: true, returnDocument: 'after' },
      ),
    );
    return inUse === null ? [] : differences(inUse, own);
  }
}

type Comparable = Omit<StoredKeySettings, '_id'>;

const stored = ({ brand, pepper }: KeySettings): Comparable => ({
  brand,
  pepper_fingerprint: fingerprintOf(pepper),
});

function differences(one: Comparable, other: Comparable): KeySettingName[] {
  return [
    ...(one.brand === other.brand ? [] : (['KEY_BRAND'] as const)),
    ...(one.pepper_fingerprint === other.pepper_fingerprint ? [] : (['KEY_PEPPER'] as const)),
  ];
}

/** Made as the hash of a key is, of a text that is none; it tells no more of the pepper than these do. */
const fingerprintOf = (pepper: string): string => hashSecret('the fingerprint of this pepper', pepper);
