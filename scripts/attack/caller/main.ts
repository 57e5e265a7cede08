import { messageOf } from '../../../shared/contract/errors.js';
import { serveCalls } from '../../load/forked-function.js';
import { attacks } from '../attacks/table.js';
import { Hostile } from './hostile.js';
import type { AttackOrder, AttackReport } from './messages.js';

/*
 * Process of the hostile callers. It is separate, so that their work does not delay the victim's calls before they are
 * sent. Answers each `AttackOrder` with an `AttackReport`.
 */
serveCalls(async () => async ({ name, seconds, target }: AttackOrder): Promise<AttackReport> => {
  const attack = attacks.find((each) => each.name === name);
  if (attack === undefined) throw new Error(`there is no attack ${name}`);
  const hostile = new Hostile(target, attack.answers, 1_000 * seconds);
  try {
    await attack.run(hostile);
    return hostile.end(undefined);
  } catch (error) {
    return hostile.end(messageOf(error));
  }
});
