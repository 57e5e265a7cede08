import type { Collection, Db } from 'mongodb';
import { hashSecret } from '../../contract/identifiers.js';
import { withMongoTimeout } from '../connection/connect.js';

/** Settings that API keys are made with. A process with other values does not recognise the keys. */
export interface KeySettings {
  /** `KEY_BRAND` */
  readonly brand: string;
  /** `KEY_PEPPER` */
  readonly pepper: string;
}

/** One document of `settings`: the key settings of the gateway that started last. */
interface StoredKeySettings {
  readonly _id: 'keys';
  readonly brand: string;
  /** See `fingerprintOf`. */
  readonly pepper_fingerprint: string;
}

/** A setting that differs from the stored one, by the name of its variable. */
export type KeySettingName = 'KEY_BRAND' | 'KEY_PEPPER';

const timeoutMs = 5_000;
const filter = { _id: 'keys' } as const;

/** The key settings in use on a database. The pepper is stored as a fingerprint that does not reveal it. */
export class KeySettingsStore {
  private readonly collection: Collection<StoredKeySettings>;

  constructor(database: Db) {
    this.collection = database.collection<StoredKeySettings>('settings');
  }

  /**
   * Stores the settings of a gateway in place of the previous ones.
   * @returns the settings that changed: this gateway rejects keys made with their old values
   * @throws the driver's error, or MongoTimeout after five seconds
   */
  async replace(settings: KeySettings): Promise<KeySettingName[]> {
    const own = stored(settings);
    const before = await withMongoTimeout(timeoutMs, () =>
      this.collection.findOneAndUpdate(filter, { $set: own }, { upsert: true, returnDocument: 'before' }),
    );
    return before === null ? [] : differences(before, own);
  }

  /**
   * Compares settings with the stored ones, or stores them if there are none yet.
   * @returns the settings that differ
   * @throws the driver's error, or MongoTimeout after five seconds
   */
  async compare(settings: KeySettings): Promise<KeySettingName[]> {
    const own = stored(settings);
    const inUse = await withMongoTimeout(timeoutMs, () =>
      this.collection.findOneAndUpdate(filter, { $setOnInsert: own }, { upsert: true, returnDocument: 'after' }),
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

/** Hashes a fixed text like a key, so it reveals no more of the pepper than the hashes of keys do. */
const fingerprintOf = (pepper: string): string => hashSecret('the fingerprint of this pepper', pepper);
