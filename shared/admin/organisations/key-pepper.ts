import { dayMs } from '../../contract/dates.js';
import { everyKey } from '../../redis/changes.js';
import type { NotedProcess } from '../../redis/process-register.js';
import { processNames } from '../../redis/running-processes.js';
import type { ApiKey } from '../../store/accounts/api-keys.js';
import { KeyPeppers } from '../../store/accounts/key-peppers.js';
import { KeySettingsStore } from '../../store/accounts/key-settings.js';
import { CallDayStore } from '../../store/console/call-days.js';
import { type AdminContext, defineAction } from '../action.js';
import { AdminError } from '../admin-error.js';
import { endPepperInput, endPepperOutput, showPepperInput, showPepperOutput } from '../schemas/peppers.js';

const inUseMs = 30 * dayMs;
const mostShown = 200;
const readsAtOnce = 50;

/** A key that lacks the new hash. */
interface OldKey {
  readonly key: ApiKey;
  readonly lastUse: Date | undefined;
  readonly isInUse: boolean;
}

export const showPepper = defineAction({
  name: 'key.pepper',
  description: 'Show how many keys have a hash with the new pepper while one is rolled out.',
  role: 'operator',
  effect: 'read',
  input: showPepperInput,
  output: showPepperOutput,
  async run(context) {
    const { database } = context;
    const stored = await new KeySettingsStore(database).read();
    if (stored?.previous_fingerprint === undefined)
      return { is_rolling_out: false, keys_with_new: 0, keys_with_old: 0, old_keys: [] };
    const old = await oldKeys(context, stored.pepper_fingerprint);
    const shown = [...old.filter(({ isInUse }) => isInUse), ...old.filter(({ isInUse }) => !isInUse)];
    return {
      is_rolling_out: true,
      keys_with_new: await new KeyPeppers(database).countWith(stored.pepper_fingerprint),
      keys_with_old: old.length,
      old_keys: shown.slice(0, mostShown).map(({ key, lastUse, isInUse }) => ({
        ...{ key_id: key._id, org_id: key.organisation_id, name: key.name, is_in_use: isInUse },
        ...(lastUse === undefined ? {} : { last_used_at: lastUse.toISOString() }),
      })),
    };
  },
});

/**
 * Ends the roll-out of a pepper. To keep the new one, keys lose their previous hash, and a key without a new one is
 * revoked. It is refused while such a key was used within 30 days. To keep the previous one, keys lose their new hash.
 */
export const endPepper = defineAction({
  name: 'key.end_pepper',
  description: 'End the roll-out of a pepper, or take it back.',
  role: 'operator',
  effect: 'change',
  input: endPepperInput,
  output: endPepperOutput,
  /** @returns the keys to revoke, by id */
  async prepare(context, { keep }, _material: undefined): Promise<ReadonlySet<string>> {
    const { current, previous } = await requireRollOut(context);
    await refuseOthers(context, keep === 'new' ? current : previous, keep);
    if (keep === 'previous') return new Set();
    const old = await oldKeys(context, current);
    const inUse = old.filter(({ isInUse }) => isInUse);
    if (inUse.length > 0) throw stillInUse(inUse);
    return new Set(old.map(({ key }) => key._id));
  },
  async run(context, { keep }, revocable: ReadonlySet<string>) {
    const { database, session, clock, record, announce } = context;
    const { current, previous } = await requireRollOut(context);
    const peppers = new KeyPeppers(database, session);
    const revoked = keep === 'new' ? await peppers.without(current) : [];
    if (revoked.some(({ _id }) => !revocable.has(_id)))
      throw new AdminError('conflict', 'A key was made meanwhile without a hash of the new pepper. Try again.');
    const now = new Date(clock.now());
    if (keep === 'new') await peppers.keepNew(current, revoked, now);
    else await peppers.keepPrevious(current);
    await new KeySettingsStore(database, session).end(keep === 'new' ? current : previous);
    announce({ kind: 'key', id: everyKey });
    for (const { _id, organisation_id: organisationId, name } of revoked)
      await record({
        ...{ organisationId, target: _id, before: { name }, after: { name, revoked_at: now.toISOString() } },
        reason: 'it had no hash with the new pepper, and was not used within 30 days',
      });
    await record({ after: { kept: keep, keys_revoked: revoked.length } });
    return { kept: keep, keys_revoked: revoked.length };
  },
});

async function requireRollOut({
  database,
}: Pick<AdminContext, 'database'>): Promise<{ readonly current: string; readonly previous: string }> {
  const stored = await new KeySettingsStore(database).read();
  if (stored?.previous_fingerprint === undefined)
    throw new AdminError('conflict', 'No pepper is being rolled out, so there is nothing to end.');
  return { current: stored.pepper_fingerprint, previous: stored.previous_fingerprint };
}

async function oldKeys({ database, clock }: AdminContext, fingerprint: string): Promise<OldKey[]> {
  const [keys, uses] = [await new KeyPeppers(database).without(fingerprint), new CallDayStore(database)];
  const since = clock.now() - inUseMs;
  const found: OldKey[] = [];
  for (let from = 0; from < keys.length; from += readsAtOnce) {
    const read = keys.slice(from, from + readsAtOnce).map(async (key) => {
      const lastUse = await uses.lastUse(key.organisation_id, key._id);
      return { key, lastUse, isInUse: lastUse !== undefined && lastUse.getTime() >= since };
    });
    found.push(...(await Promise.all(read)));
  }
  return found;
}

function stillInUse(keys: readonly OldKey[]): AdminError {
  const named = keys.slice(0, 5).map(({ key }) => `${key._id} (${key.name}) of ${key.organisation_id}`);
  const more = keys.length > named.length ? ` and ${keys.length - named.length} more` : '';
  return new AdminError(
    'conflict',
    `Keys that were used within 30 days have no hash with the new pepper: ${named.join(', ')}${more}. The next call ` +
      'with such a key makes it. Wait for that, or revoke the key.',
  );
}

/** Refuses the end while a process with the other pepper runs, which would find no key any more. */
async function refuseOthers(
  { redis }: Pick<AdminContext, 'redis'>,
  fingerprint: string,
  keep: 'new' | 'previous',
): Promise<void> {
  // Imported here: commands that fail on their arguments need no Redis.
  const { ProcessRegister } = await import('../../redis/process-register.js');
  const noted = await new ProcessRegister(await redis()).list();
  const others = noted.filter(({ settings }) => (settings.KEY_PEPPER ?? fingerprint) !== fingerprint);
  if (others.length === 0) return;
  const wanted = keep === 'new' ? 'the new KEY_PEPPER, and with KEY_PEPPER_PREVIOUS' : 'the previous KEY_PEPPER alone';
  throw new AdminError(
    'conflict',
    `These processes have another pepper, and would answer 401 to all keys: ${others.map(nameOf).join(', ')}. ` +
      `Restart them with ${wanted}, wait 35 seconds, and try again.`,
  );
}

const nameOf = ({ kind, host, pid }: NotedProcess): string => `${processNames[kind][0]} ${host}:${pid}`;
