import type { Command } from 'commander';
import { UnusableServer } from '../../../shared/async/retry.js';
import { isRedisRefusal, type Redis } from '../../../shared/redis/connect.js';
import { anyLatestScoresKey, anyUsageKey } from '../../../shared/redis/keys.js';
import { claimRedis } from '../../../shared/redis/owner.js';
import { processKinds, processNames, runningProcesses } from '../../../shared/redis/running-processes.js';
import { allKeys } from '../../../shared/redis/scan.js';
import { type KeySettings, KeySettingsStore, otherKeySettings } from '../../../shared/store/accounts/key-settings.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import { installationId } from '../../../shared/store/connection/installation-id.js';
import type { CliContext, CommandResult } from '../context/cli-context.js';
import { CliError } from '../context/cli-error.js';
import { recordCommand } from '../context/perform.js';
import { Progress, type ProgressState } from '../output/progress.js';
import { countText } from '../output/readable-numbers.js';
import { renderFields } from '../output/table.js';
import { type ChangeCounts, writeChanges } from '../restore/change-file.js';
import { eraseRestored } from '../restore/erase-restored.js';
import { changesOf, repeatChanges } from '../restore/repeat-changes.js';
import { defineCommand, type JsonOption } from './define-command.js';

/** Adds `restore export` and `restore finish`. */
export function addRestoreCommands(program: Command, context: CliContext): void {
  const restore = program
    .command('restore')
    .description('Restore from a backup: keep what it would undo, and repeat that afterwards');

  defineCommand(restore, {
    usage: 'export <file>',
    description: 'Write erasures of leads, revocations and limits of keys, suspensions and deletions to a file',
    examples: ['restore export changes.jsonl'],
    notes:
      'A restore from a backup undoes those that came after it; `restore finish` repeats them.\n' +
      'Run this command often, and keep the file apart from the database. It names leads by\ntheir hash only.',
  }).action((path: string, options: JsonOption) => context.present(options, exportChanges(context, path)));

  defineCommand(restore, {
    usage: 'finish [file]',
    description: 'Make a database that was restored from a backup ready for use',
    examples: ['restore finish changes.jsonl', 'restore finish'],
    notes: finishNotes,
  })
    .option('--yes', 'run it beside gateways and pools that are still running')
    .action((path: string | undefined, options: FinishOptions) =>
      context.present(options, finishRestore(context, path, options)),
    );
}

const finishNotes = `
Run it while gateways, pools, runners and consoles are stopped, with the
KEY_PEPPER and KEY_BRAND of the gateways:
1. revokes the keys and notes the erased leads that the file lists. It also takes scopes
   and days from keys that had fewer, and suspends organisations that were suspended.
   Pools remove the data of deleted organisations again when they run;
2. erases these leads, and those that the database itself lists, once more;
3. drops usage counters and latest scores from Redis. They are rebuilt from the
   database when they are next needed.
After an interruption, run it again. If KEY_PEPPER has changed within 400 days, set
KEY_PEPPER_PREVIOUS to the one before. For still earlier ones, run it once with each,
and add KEY_PEPPER_CHANGED=yes for those that it refuses.`.trim();

interface FinishOptions extends JsonOption {
  readonly yes?: true;
}

async function exportChanges({ connections, clock }: CliContext, path: string): Promise<CommandResult> {
  const database = await connections.database();
  const changes = changesOf(database, new Date(clock.now()));
  const counts = await writeChanges(path, changes, await installationId(database));
  return { document: { file: path, ...counts }, text: renderFields([...fieldsOf(counts), ['File', path]]) };
}

async function finishRestore(
  context: CliContext,
  path: string | undefined,
  { json, yes }: FinishOptions,
): Promise<CommandResult> {
  const { config, connections, stderr } = context;
  const [pepper, previousPepper] = [await connections.keyPepper(), config.keyPepperPrevious];
  if (!config.keyPepperChanged)
    await requireKeySettings(await connections.database(), { brand: config.keyBrand, pepper, previousPepper });
  const keyPeppers = previousPepper === undefined ? [pepper] : [pepper, previousPepper];
  const redis = await connections.redis();
  if (yes !== true) await requireStopped(redis);
  const database = await connections.preparedDatabase();
  await requireSameInstallation(redis, database);
  const repeated = path === undefined ? undefined : await repeatChanges(database, path);
  const progress =
    json === true ? undefined : new Progress({ stream: stderr, label: 'Looking for erased leads', unit: 'documents' });
  progress?.start();
  const onProgress = (state: ProgressState): void => progress?.update(state);
  const leads = await eraseRestored(database, { keyPeppers, onProgress }).finally(() => progress?.stop());
  const dropped = await dropDerived(redis);
  await recordCommand(context, 'restore.finish', { after: { ...repeated, leads_erased: leads } });
  return {
    document: { file: path ?? null, ...repeated, leads_erased: leads, redis_keys_dropped: dropped },
    text: renderFields([
      ...(repeated === undefined ? [] : fieldsOf(repeated)),
      ['Leads erased again', countText(leads)],
      ['Redis keys dropped', countText(dropped)],
    ]),
  };
}

/** Another database's Redis would lose counters, and that of this database keep old ones. */
async function requireSameInstallation(redis: Redis, database: Db): Promise<void> {
  await claimRedis(redis, await installationId(database)).catch((cause: unknown) => {
    throw cause instanceof UnusableServer ? new CliError(cause.message, { code: 'other_redis', cause }) : cause;
  });
}

/** Leads that were erased under another pepper are found only with it. */
async function requireKeySettings(database: Db, settings: KeySettings): Promise<void> {
  const different = await new KeySettingsStore(database).compare(settings);
  if (different.length === 0) return;
  throw new CliError(
    `${otherKeySettings(different)}, so leads that were erased would not be found. Set the right ` +
      `${different.join(' and ')}. If leads were erased under this one, add KEY_PEPPER_CHANGED=yes to the environment`,
    { code: 'other_key_settings' },
  );
}

const fieldsOf = (counts: ChangeCounts): [string, string][] => [
  ['Erasures', countText(counts.erasures)],
  ['Revocations', countText(counts.revocations)],
  ['Limits of keys', countText(counts.key_limits)],
  ['Suspensions', countText(counts.suspensions)],
  ['Deletions', countText(counts.deletions)],
];

/** Drops what Redis derived from the database before the restore. An unknown counter is rebuilt from the ledger. */
async function dropDerived(redis: Redis): Promise<number> {
  let dropped = 0;
  // One command a key: keys of several organisations are in several slots.
  for (const pattern of [anyUsageKey, anyLatestScoresKey])
    for await (const keys of allKeys(redis, pattern)) for (const key of keys) dropped += await redis.unlink(key);
  return dropped;
}

const remedy = 'Stop all gateways, pools, runners and consoles, and run the command again; or add --yes';

/**
 * Refuses to work beside running processes: they put counters and scores from before the restore back into Redis.
 * @throws CliError that names how many there are of each kind, or says that Redis does not tell
 */
async function requireStopped(redis: Redis): Promise<void> {
  const running = await runningProcesses(redis).catch((cause: unknown) => {
    if (!isRedisRefusal(cause)) throw cause;
    const problem = `Redis does not tell which processes are running, because it refused CLIENT LIST (${cause.message})`;
    throw new CliError(`${problem}. ${remedy} once they are stopped`, { code: 'unknown_processes', cause });
  });
  const found = processKinds.filter((kind) => running[kind] > 0);
  if (found.length === 0) return;
  const counted = found.map((kind) => `${running[kind]} ${processNames[kind][running[kind] === 1 ? 0 : 1]}`);
  throw new CliError(
    `Still running on this Redis: ${counted.join(', ')}. They may put back what this command drops. ${remedy}`,
    { code: 'still_running', details: { running } },
  );
}
