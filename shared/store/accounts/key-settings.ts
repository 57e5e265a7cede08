import type { ClientSession, Collection, Db, UpdateFilter } from 'mongodb';
import { hashSecret } from '../../contract/identifiers.js';
import { withMongoTimeout } from '../connection/connect.js';
import { inSession } from '../connection/transaction.js';

/** Settings that API keys are made with. A process with other values does not recognise the keys. */
export interface KeySettings {
  /** `KEY_BRAND` */
  readonly brand: string;
  /** `KEY_PEPPER` */
  readonly pepper: string;
  /** `KEY_PEPPER_PREVIOUS`: the one before, while a new pepper is rolled out. */
  readonly previousPepper?: string | undefined;
}

/** One document of `settings`: the key settings of this database. */
interface StoredKeySettings {
  readonly _id: 'keys';
  readonly brand: string;
  /** See `fingerprintOf`. */
  readonly pepper_fingerprint: string;
  /** The same of the pepper before, while the other one is rolled out. */
  readonly previous_fingerprint?: string;
}

/** A setting that differs from the stored one, by the name of its variable. */
export type KeySettingName = 'KEY_BRAND' | 'KEY_PEPPER' | 'KEY_PEPPER_PREVIOUS';

const timeoutMs = 5_000;
const filter = { _id: 'keys' } as const;

/**
 * The key settings of a database. Peppers are stored as fingerprints that do not reveal them. While a pepper is rolled
 * out, a process with either one may run: keys have both hashes, or the previous one.
 */
export class KeySettingsStore {
  private readonly collection: Collection<StoredKeySettings>;

  /** @param session a transaction in which all calls take part */
  constructor(
    database: Db,
    private readonly session?: ClientSession,
  ) {
    this.collection = database.collection<StoredKeySettings>('settings');
  }

  /**
   * The stored settings; null if nothing is stored yet.
   * @throws the driver's error, or MongoTimeout after five seconds
   */
  async read(): Promise<Comparable | null> {
    const options = inSession(this.session);
    return await withMongoTimeout(timeoutMs, (signal) => this.collection.findOne(filter, { ...options, signal }));
  }

  /**
   * Compares settings with the stored ones, and writes nothing. Settings that would begin a roll-out do not differ.
   * @returns the settings that differ; none if nothing is stored yet
   * @throws the driver's error, or MongoTimeout after five seconds
   */
  async compare(settings: KeySettings): Promise<KeySettingName[]> {
    const [stored, own] = [await this.read(), comparable(settings)];
    return canBegin(stored, own) ? [] : differences(stored, own);
  }

  /**
   * Compares settings with the stored ones, or stores them if there are none yet. Only one of several callers at once
   * stores its own.
   * @returns the settings that differ
   * @throws the driver's error, or MongoTimeout after five seconds
   */
  async claim(settings: KeySettings): Promise<KeySettingName[]> {
    const own = comparable(settings);
    const { brand, pepper_fingerprint } = own;
    return differences(await this.update({ $setOnInsert: { brand, pepper_fingerprint } }, 'after'), own);
  }

  /** Whether these settings would begin to roll out their pepper. */
  async wouldBegin(settings: KeySettings): Promise<boolean> {
    return canBegin(await this.read(), comparable(settings));
  }

  /**
   * Begins to roll out a pepper, if the stored one is the previous one of these settings.
   * @throws the driver's error, or MongoTimeout after five seconds
   */
  async begin(settings: KeySettings): Promise<void> {
    const { brand, pepper_fingerprint, previous_fingerprint: previous } = comparable(settings);
    if (previous === undefined) return;
    const before = { ...filter, brand, pepper_fingerprint: previous, previous_fingerprint: { $exists: false } };
    const change = { $set: { pepper_fingerprint, previous_fingerprint: previous } };
    const options = { writeConcern: { w: 'majority' } } as const;
    await withMongoTimeout(timeoutMs, () => this.collection.updateOne(before, change, options));
  }

  /** The settings to make a key with: the previous pepper only while another one is rolled out. */
  async forNewKey(settings: KeySettings): Promise<KeySettings> {
    const { brand, pepper, previousPepper } = settings;
    const [stored, own] = [await this.read(), comparable(settings)];
    const isRollOut =
      stored?.previous_fingerprint !== undefined && stored.pepper_fingerprint === own.pepper_fingerprint;
    return { brand, pepper, ...(isRollOut && { previousPepper }) };
  }

  /**
   * Ends a roll-out, if one is under way.
   * @param kept the fingerprint of the pepper that stays
   */
  async end(kept: string): Promise<void> {
    const change = { $set: { pepper_fingerprint: kept }, $unset: { previous_fingerprint: 1 as const } };
    await this.collection.updateOne(filter, change, inSession(this.session));
  }

  /**
   * Stores settings in place of the previous ones.
   * @returns the settings that changed: keys made with their old values are void
   * @throws the driver's error, or MongoTimeout after five seconds
   */
  async replace(settings: KeySettings): Promise<KeySettingName[]> {
    const { brand, pepper_fingerprint } = comparable(settings);
    const own = { brand, pepper_fingerprint };
    const before = await this.update({ $set: own, $unset: { previous_fingerprint: 1 } }, 'before');
    return differences(before, own).filter((name) => name !== 'KEY_PEPPER_PREVIOUS');
  }

  private update(change: UpdateFilter<StoredKeySettings>, returnDocument: 'before' | 'after') {
    const options = { upsert: true, returnDocument, writeConcern: { w: 'majority' } } as const;
    return withMongoTimeout(timeoutMs, () => this.collection.findOneAndUpdate(filter, change, options));
  }
}

/** The problem of a process with other settings, for the beginning of a message. */
export const otherKeySettings = (different: readonly KeySettingName[]): string =>
  `${different.join(' and ')} ${different.length === 1 ? 'is not that' : 'are not those'} of the keys in this database`;

/** The remedy of a wrong KEY_PEPPER_PREVIOUS, after another one. Empty if it does not differ. */
export const rollOutRemedy = (different: readonly KeySettingName[]): string =>
  different.includes('KEY_PEPPER_PREVIOUS')
    ? ' A pepper is being rolled out: `npx leadscore key pepper` shows how far, and --finish ends it.'
    : '';

type Comparable = Omit<StoredKeySettings, '_id'>;

const comparable = ({ brand, pepper, previousPepper }: KeySettings): Comparable => ({
  brand,
  pepper_fingerprint: fingerprintOf(pepper),
  ...(previousPepper === undefined ? {} : { previous_fingerprint: fingerprintOf(previousPepper) }),
});

const canBegin = (stored: Comparable | null, own: Comparable): boolean =>
  stored !== null &&
  stored.brand === own.brand &&
  stored.previous_fingerprint === undefined &&
  stored.pepper_fingerprint === own.previous_fingerprint;

function differences(stored: Comparable | null, own: Comparable): KeySettingName[] {
  if (stored === null) return [];
  return [...(stored.brand === own.brand ? [] : (['KEY_BRAND'] as const)), ...differentPeppers(stored, own)];
}

/** A process with the new pepper needs the previous one too: keys that were not used yet have only its hash. */
function differentPeppers(stored: Comparable, own: Comparable): KeySettingName[] {
  const { pepper_fingerprint: current, previous_fingerprint: previous } = stored;
  if (own.pepper_fingerprint === previous) return [];
  if (own.pepper_fingerprint !== current) {
    // A second roll-out before the end of the first.
    const isSecond = previous !== undefined && own.previous_fingerprint === current;
    return isSecond ? ['KEY_PEPPER', 'KEY_PEPPER_PREVIOUS'] : ['KEY_PEPPER'];
  }
  return previous === undefined || own.previous_fingerprint === previous ? [] : ['KEY_PEPPER_PREVIOUS'];
}

/** Hashes a fixed text like a key, so it reveals no more of the pepper than the hashes of keys do. */
export const fingerprintOf = (pepper: string): string => hashSecret('the fingerprint of this pepper', pepper);
