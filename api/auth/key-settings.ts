import type { Logger } from '../../shared/process/logger.js';
import type { KeySettings, KeySettingsStore } from '../../shared/store/accounts/key-settings.js';

/**
 * Takes down what this gateway knows keys by, so that `leadscore key create` notices when it has other settings. Warns when
 * they were others before: that is how an operator changes them, or finds out that one gateway is set up wrongly. Never
 * throws: a gateway serves without it. To be called once it listens: one that does not start knows no keys.
 */
export async function noteKeySettings(
  store: KeySettingsStore,
  settings: KeySettings,
  logger: Logger,
): Promise<void> {
  try {
    const changed = await store.replace(settings);
    if (changed.length > 0)
      logger.warn(
        { changed },
        `${changed.join(' and ')} changed since a gateway was last started, or keys were made: ` +
          'keys made before are unknown to this gateway',
      );
  } catch (error) {
    logger.warn({ error }, 'the settings of keys could not be taken down');
  }
}
