import {
  type KeySettings,
  KeySettingsStore,
  otherKeySettings,
  rollOutRemedy,
} from '../../store/accounts/key-settings.js';
import type { ActionContext } from '../action.js';
import { AdminError } from '../admin-error.js';

/**
 * The key settings, for an action that hashes with them. They may have been changed since this process started.
 * @param harm of other settings than those of the database; continues the sentence
 * @param how `claim` stores them in a database that has none; `compare` writes nothing
 * @throws AdminError when they differ from those of the database
 */
export async function checkedKeySettings(
  { database, keySettings }: Pick<ActionContext, 'database' | 'keySettings'>,
  harm: string,
  how: 'claim' | 'compare' = 'claim',
): Promise<KeySettings> {
  const settings = await keySettings();
  const different = await new KeySettingsStore(database)[how](settings);
  if (different.length === 0) return settings;
  const names = different.join(' and ');
  throw new AdminError(
    'other_key_settings',
    `${otherKeySettings(different)}, so ${harm}. Set the right ${names}.${rollOutRemedy(different)}${begin(settings)} ` +
      `To change ${names} and make all these keys void, first restart the gateways with the new ones and ` +
      'KEY_PEPPER_CHANGED=yes',
  );
}

/** A command does not begin a roll-out: gateways have to know both peppers first. */
const begin = ({ previousPepper }: KeySettings): string =>
  previousPepper === undefined
    ? ''
    : ' A gateway or a console that starts with KEY_PEPPER_PREVIOUS begins to roll it out.';
