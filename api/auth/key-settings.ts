import { retryAtStart, UnusableServer } from '../../shared/async/retry.js';
import type { Config } from '../../shared/config/config.js';
import type { Logger } from '../../shared/process/logger.js';
import type { Redis } from '../../shared/redis/connect.js';
import { olderProcesses, ProcessRegister } from '../../shared/redis/process-register.js';
import {
  type KeySettingName,
  type KeySettings,
  KeySettingsStore,
  otherKeySettings,
  rollOutRemedy,
} from '../../shared/store/accounts/key-settings.js';
import type { Db } from '../../shared/store/connection/connect.js';

/*
 * A starting process compares its KEY_PEPPER and KEY_BRAND with those of the keys in the database. With others, it
 * would answer 401 to every key. With KEY_PEPPER_PREVIOUS, the first one begins to roll out its KEY_PEPPER.
 */

type KeyConfig = Pick<Config, 'keyBrand' | 'keyPepper' | 'keyPepperPrevious' | 'keyPepperChanged'>;

/**
 * Compares them before the process writes anything.
 * @throws UnusableServer when they differ, unless that is accepted; the last error after 15 s of retries
 */
export async function checkKeySettings(database: Db, config: KeyConfig): Promise<void> {
  if (config.keyPepperChanged) return;
  refuse(await retryAtStart(() => new KeySettingsStore(database).compare(settingsOf(config))));
}

/**
 * Stores them before the process answers any call, unless they are stored. Processes that start at once on an empty
 * database pass the check together, and only one of them stores its own.
 * @throws as `checkKeySettings`
 */
export async function claimKeySettings({ database, redis, config, logger }: Claim): Promise<void> {
  const store = new KeySettingsStore(database);
  const own = settingsOf(config);
  if (!config.keyPepperChanged) {
    if (await retryAtStart(() => store.wouldBegin(own))) await beginRollOut(store, own, redis);
    return refuse(await retryAtStart(() => store.claim(own)));
  }
  const changed = await retryAtStart(() => store.replace(own));
  logger.warn(
    { changed },
    changed.length > 0
      ? 'all keys made before are void: make new keys, and remove KEY_PEPPER_CHANGED'
      : 'a wrong KEY_PEPPER would not be noticed: remove KEY_PEPPER_CHANGED',
  );
}

interface Claim {
  readonly database: Db;
  readonly redis: Redis;
  readonly config: KeyConfig;
  readonly logger: Pick<Logger, 'warn'>;
}

/** @throws UnusableServer while a process runs that would not find a key by its previous hash */
async function beginRollOut(store: KeySettingsStore, own: KeySettings, redis: Redis): Promise<void> {
  const processes = await retryAtStart(() => new ProcessRegister(redis).list());
  const older = olderProcesses(processes.filter(({ kind }) => kind === 'gateway' || kind === 'console'));
  if (older.length > 0)
    throw new UnusableServer(
      `Processes of an earlier release are running, which would not find the keys of a new KEY_PEPPER: ` +
        `${older.join(', ')}. Replace them by this release with the previous KEY_PEPPER first.`,
    );
  await retryAtStart(() => store.begin(own));
}

function refuse(different: readonly KeySettingName[]): void {
  if (different.length === 0) return;
  const remedy = rollOutRemedy(different);
  throw new UnusableServer(
    `${otherKeySettings(different)}, so ${remedy === '' ? 'they would all' : 'some would'} get 401. Set the right ` +
      `${different.join(' and ')}.${remedy} To accept that all these keys are void, start once with ` +
      'KEY_PEPPER_CHANGED=yes.',
  );
}

const settingsOf = ({ keyBrand, keyPepper, keyPepperPrevious }: KeyConfig): KeySettings => ({
  brand: keyBrand,
  pepper: keyPepper,
  previousPepper: keyPepperPrevious,
});
