import type { Collection, Db, UpdateFilter } from 'mongodb';
import { hashSecret } from '../../contract/identifiers.js';
import { withMongoTimeout } from '../connection/connect.js';

/** Settings that API keys are made with. A process with other values does not recognise the keys. */
export interface KeySettings {
  /** `KEY_BRAND` */
  readonly brand: string;
  /** `KEY_PEPPER` */
  readonly pepper: string;
}

/** One document of `settings`: the key settings of this database. */
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

/** The key settings of a database. The pepper is stored as a fingerprint that does not reveal it. */
export class KeySettingsStore {
  private readonly collection: Collection<StoredKeySettings>;

  constructor(database: Db) {
    this.collection = database.collection<StoredKeySettings>('settings');
  }

  /**
   * The stored settings; null if nothing is stored yet.
   * @throws the driver's error, or MongoTimeout after five seconds
   */
  async read(): Promise<Comparable | null> {
    return await withMongoTimeout(timeoutMs, (signal) => this.collection.findOne(filter, { signal }));
  }

  /**
   * Compares settings with the stored ones, and writes nothing.
   * @returns the settings that differ; none if nothing is stored yet
   * @throws the driver's error, or MongoTimeout after five seconds
   */
  async compare(settings: KeySettings): Promise<KeySettingName[]> {
    return differences(await this.read(), stored(settings));
  }

  /**
   * Compares settings with the stored ones, or stores them if there are none yet. Only one of several callers at once
   * stores its own.
   * @returns the settings that differ
   * @throws the driver's error, or MongoTimeout after five seconds
   */
  async claim(settings: KeySettings): Promise<KeySettingName[]> {
    const own = stored(settings);
    return differences(await this.update({ $setOnInsert: own }, 'after'), own);
  }

  /**
   * Stores settings in place of the previous ones.
   * @returns the settings that changed: keys made with their old values are void
   * @throws the driver's error, or MongoTimeout after five seconds
   */
  async replace(settings: KeySettings): Promise<KeySettingName[]> {
    const own = stored(settings);
    return differences(await this.update({ $set: own }, 'before'), own);
  }

  private update(change: UpdateFilter<StoredKeySettings>, returnDocument: 'before' | 'after') {
    const options = { upsert: true, returnDocument, writeConcern: { w: 'majority' } } as const;
    return withMongoTimeout(timeoutMs, () => this.collection.findOneAndUpdate(filter, change, options));
  }
}

/** The problem of a process with other settings, for the beginning of a message. */
export const otherKeySettings = (different: readonly KeySettingName[]): string =>
  `${different.join(' and ')} ${different.length === 1 ? 'is not that' : 'are not those'} of the keys in this database`;

type Comparable = Omit<StoredKeySettings, '_id'>;

const stored = ({ brand, pepper }: KeySettings): Comparable => ({
  brand,
  pepper_fingerprint: fingerprintOf(pepper),
});

function differences(one: Comparable | null, other: Comparable): KeySettingName[] {
  if (one === null) return [];
  return [
    ...(one.brand === other.brand ? [] : (['KEY_BRAND'] as const)),
    ...(one.pepper_fingerprint === other.pepper_fingerprint ? [] : (['KEY_PEPPER'] as const)),
  ];
}

/** Hashes a fixed text like a key, so it reveals no more of the pepper than the hashes of keys do. */
export const fingerprintOf = (pepper: string): string => hashSecret('the fingerprint of this pepper', pepper);
