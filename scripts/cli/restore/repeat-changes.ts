import { orderedScopes } from '../../../shared/contract/roles.js';
import { type ApiKey, ApiKeyStore, type KeyChange } from '../../../shared/store/accounts/api-keys.js';
import { OrganisationStore } from '../../../shared/store/accounts/organisations.js';
import { ErasureStore, type RememberedErasure } from '../../../shared/store/calls/erasures.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import { installationId } from '../../../shared/store/connection/installation-id.js';
import { DeletionStore } from '../../../shared/store/organisations/deletions.js';
import { type ChangeCounts, checkChanges, type LostChange, noChanges, readChanges } from './change-file.js';
import { repeatDeletion } from './repeat-deletion.js';

/** The changes of a database that a restore from an older backup would undo. */
export async function* changesOf(database: Db, now: Date): AsyncGenerator<LostChange> {
  for await (const { _id: erased, org, erased_at: at } of new ErasureStore(database).remembered())
    yield { erased, org, at };
  const keys = new ApiKeyStore(database);
  for await (const { _id: revoked, revoked_at: at } of keys.revoked()) if (at !== undefined) yield { revoked, at };
  for await (const { _id: limited, scopes, expires_at } of keys.limited())
    yield { limited, ...(scopes && { scopes }), ...(expires_at && { expires_at }), at: now };
  for (const { _id, suspended } of await new OrganisationStore(database).list())
    if (suspended !== undefined) yield { suspended: _id, by: suspended.by, reason: suspended.reason, at: suspended.at };
  for (const deletion of await new DeletionStore(database).list())
    yield { deletion, at: deletion.ended_at ?? deletion.requested_at };
}

const erasuresPerWrite = 1_000;

/**
 * Repeats the changes of a file in the restored database, or none of a file that is not whole. Keys and organisations
 * that it does not have cannot be used either.
 * @returns how many of each kind the database had a use for
 * @throws CliError when the file cannot be read; errors of MongoDB
 */
export async function repeatChanges(database: Db, path: string): Promise<ChangeCounts> {
  const installation = await installationId(database);
  await checkChanges(path, installation);
  const counts = { ...noChanges };
  const erasures = new ErasureStore(database);
  let pending: RememberedErasure[] = [];
  const flush = async (): Promise<void> => {
    await erasures.remember(pending);
    counts.erasures += pending.length;
    pending = [];
  };
  for await (const change of readChanges(path, installation)) {
    if ('erased' in change) pending.push({ _id: change.erased, org: change.org, erased_at: change.at });
    else if ('revoked' in change) counts.revocations += await revoke(database, change);
    else if ('limited' in change) counts.key_limits += await limit(database, change);
    else if ('suspended' in change) counts.suspensions += await suspend(database, change);
    else counts.deletions += await repeatDeletion(database, change.deletion);
    if (pending.length === erasuresPerWrite) await flush();
  }
  await flush();
  return counts;
}

type Change<Name extends string> = Extract<LostChange, Readonly<Record<Name, string>>>;

async function revoke(database: Db, { revoked, at }: Change<'revoked'>): Promise<number> {
  return (await new ApiKeyStore(database).revoke(revoked, at)) === undefined ? 0 : 1;
}

/** Takes scopes and days from a key that it had lost before the restore. A key that may do less keeps that. */
async function limit(database: Db, change: Change<'limited'>): Promise<number> {
  const keys = new ApiKeyStore(database);
  const key = await keys.find(change.limited);
  if (key === undefined || key.revoked_at !== undefined) return 0;
  const narrowed = narrowing(key, change);
  if (Object.keys(narrowed).length === 0) return 0;
  await keys.set(key._id, narrowed);
  return 1;
}

function narrowing(key: ApiKey, { scopes, expires_at: expires }: Change<'limited'>): KeyChange {
  const own = key.scopes ?? scopes ?? [];
  const left = own.filter((scope) => scopes === undefined || scopes.includes(scope));
  const losesScopes = scopes !== undefined && (key.scopes === undefined || left.length < own.length);
  // A key with none of its scopes left had been given others.
  const fewer = left.length === 0 ? (scopes ?? []) : left;
  const endsEarlier = expires !== undefined && (key.expires_at === undefined || expires < key.expires_at);
  return { ...(losesScopes && { scopes: orderedScopes(fewer) }), ...(endsEarlier && { expires_at: expires }) };
}

async function suspend(database: Db, { suspended: id, by, reason, at }: Change<'suspended'>): Promise<number> {
  const organisations = new OrganisationStore(database);
  const organisation = await organisations.find(id);
  if (organisation === undefined || organisation.suspended !== undefined) return 0;
  await organisations.update(id, { suspended: { at, by, reason } });
  return 1;
}
