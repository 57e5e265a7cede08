import { retryAtStart, UnusableServer } from '../../shared/async/retry.js';
import type { Config } from '../../shared/config/config.js';
import type { Logger } from '../../shared/process/logger.js';
import { type KeySettingName, KeySettingsStore, otherKeySettings } from '../../shared/store/accounts/key-settings.js';
import type { Db } from '../../shared/store/connection/connect.js';

/*
 * A starting process compares its KEY_PEPPER and KEY_BRAND with those of the keys in the database. With others, it
 * would answer 401 to every key.
 */

type KeyConfig = Pick<Config, 'keyBrand' | 'keyPepper' | 'keyPepperChanged'>;

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
export async function claimKeySettings(database: Db, config: KeyConfig, logger: Pick<Logger, 'warn'>): Promise<void> {
  const store = new KeySettingsStore(database);
  const own = settingsOf(config);
  if (!config.keyPepperChanged) return refuse(await retryAtStart(() => store.claim(own)));
  const changed = await retryAtStart(() => store.replace(own));
  logger.warn(
    { changed },
    changed.length > 0
      ? 'all keys made before are void: make new keys, and remove KEY_PEPPER_CHANGED'
      : 'a wrong KEY_PEPPER would not be noticed: remove KEY_PEPPER_CHANGED',
  );
}

function refuse(different: readonly KeySettingName[]): void {
  if (different.length === 0) return;
  throw new UnusableServer(
    `${otherKeySettings(different)}, so they would all get 401. Set the right ${different.join(' and ')}. To accept ` +
      'that all these keys are void, start once with KEY_PEPPER_CHANGED=yes.',
  );
}

const settingsOf = ({ keyBrand, keyPepper }: KeyConfig) => ({ brand: keyBrand, pepper: keyPepper });
