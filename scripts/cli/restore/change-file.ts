import { open, rename } from 'node:fs/promises';
import { orderedScopes, type Scope } from '../../../shared/contract/roles.js';
import { CliError, fileProblem, unwritable } from '../context/cli-error.js';
import type { NotedDeletion } from './repeat-deletion.js';

/** A change that a restore from an older backup undoes: of a lead, a key or an organisation. */
export type LostChange =
  | { readonly erased: string; readonly org: string; readonly at: Date }
  | { readonly revoked: string; readonly at: Date }
  | { readonly limited: string; readonly scopes?: readonly Scope[]; readonly expires_at?: Date; readonly at: Date }
  | { readonly suspended: string; readonly by: string; readonly reason: string; readonly at: Date }
  | { readonly deletion: NotedDeletion; readonly at: Date };

/** Counts of changes by kind. */
export interface ChangeCounts {
  readonly erasures: number;
  readonly revocations: number;
  readonly key_limits: number;
  readonly suspensions: number;
  readonly deletions: number;
}

export const noChanges: ChangeCounts = { erasures: 0, revocations: 0, key_limits: 0, suspensions: 0, deletions: 0 };

const kindOf = (change: LostChange): keyof ChangeCounts => {
  if ('erased' in change) return 'erasures';
  if ('revoked' in change) return 'revocations';
  if ('limited' in change) return 'key_limits';
  return 'suspended' in change ? 'suspensions' : 'deletions';
};

/**
 * Writes changes to a file, one JSON document a line. An earlier file stays until the new one is complete. The first
 * line also names the installation: earlier releases pass over a member, but not over a line.
 * @throws CliError when the file cannot be written
 */
export async function writeChanges(
  path: string,
  changes: AsyncIterable<LostChange>,
  installation: string,
): Promise<ChangeCounts> {
  const counts = { ...noChanges };
  const part = `${path}.part`;
  const orUnwritable = (error: unknown): never => {
    throw unwritable(path, error);
  };
  const file = await open(part, 'w', 0o600).catch(orUnwritable);
  let added: object = { installation };
  try {
    for await (const change of changes) {
      await file.write(`${JSON.stringify({ ...change, ...added })}\n`).catch(orUnwritable);
      added = {};
      counts[kindOf(change)] += 1;
    }
    await file.sync().catch(orUnwritable);
  } finally {
    await file.close();
  }
  await rename(part, path).catch(orUnwritable);
  return counts;
}

/**
 * Reads a file of changes to its end, so that nothing is repeated of one that is not whole.
 * @throws CliError as `readChanges`
 */
export async function checkChanges(path: string, installation: string): Promise<void> {
  for await (const _ of readChanges(path, installation));
}

/**
 * Reads the changes of a file.
 * @throws CliError when the file cannot be read or is that of another installation; with the line that is not a change
 */
export async function* readChanges(path: string, installation: string): AsyncGenerator<LostChange> {
  const unreadable = (cause: unknown): CliError =>
    new CliError(`Cannot read ${path}: ${fileProblem(cause)}`, { code: 'bad_input', cause });
  const file = await open(path).catch((error: unknown) => {
    throw unreadable(error);
  });
  const lines = file.readLines()[Symbol.asyncIterator]();
  for (let line = 1; ; line += 1) {
    const { value: text, done } = await lines.next().catch((error: unknown) => {
      throw unreadable(error);
    });
    if (done === true) return;
    const change = changeOf(text);
    if (change?.installation !== undefined && change.installation !== installation) throw otherInstallation(path);
    if (change !== undefined) yield change.lost;
    else throw new CliError(`${path}, line ${line} was not written by \`restore export\``, { code: 'bad_input' });
  }
}

const otherInstallation = (path: string): CliError =>
  new CliError(
    `${path} was written by \`restore export\` of another installation. Nothing was changed. Give the file of the ` +
      'installation that the backup is of',
    { code: 'other_installation' },
  );

/** A change, and the installation that its line names. */
function changeOf(text: string): { readonly lost: LostChange; readonly installation: unknown } | undefined {
  try {
    const read: Readonly<Record<string, unknown>> = JSON.parse(text);
    const lost = lostChangeOf(read);
    return lost && { lost, installation: read.installation };
  } catch {
    return undefined;
  }
}

/** @throws RangeError for a text that is no date */
function lostChangeOf(read: Readonly<Record<string, unknown>>): LostChange | undefined {
  const { erased, revoked, limited, suspended, deletion, org } = read;
  const at = new Date(String(read.at));
  if (Number.isNaN(at.getTime())) return undefined;
  if (typeof revoked === 'string') return { revoked, at };
  if (typeof limited === 'string') return limitsOf(limited, at, read);
  if (typeof suspended === 'string') return suspensionOf(suspended, at, read);
  if (typeof deletion === 'object' && deletion !== null) return { deletion: withDates(deletion), at };
  return typeof erased === 'string' && typeof org === 'string' ? { erased, org, at } : undefined;
}

function limitsOf(
  limited: string,
  at: Date,
  { scopes, expires_at }: Readonly<Record<string, unknown>>,
): LostChange | undefined {
  const expires = expires_at === undefined ? undefined : new Date(String(expires_at));
  if (expires !== undefined && Number.isNaN(expires.getTime())) return undefined;
  const ofExpiry = expires === undefined ? {} : { expires_at: expires };
  if (scopes === undefined) return { limited, ...ofExpiry, at };
  const known = orderedScopes(Array.isArray(scopes) ? scopes : []);
  return known.length > 0 ? { limited, scopes: known, ...ofExpiry, at } : undefined;
}

function suspensionOf(
  suspended: string,
  at: Date,
  { by, reason }: Readonly<Record<string, unknown>>,
): LostChange | undefined {
  return typeof by === 'string' && typeof reason === 'string' ? { suspended, by, reason, at } : undefined;
}

/** The members of a deletion that are dates, which JSON has as texts. */
const dates = ['requested_at', 'due_at', 'begun_at', 'ended_at'];

/** @throws RangeError for a text that is no date */
function withDates(deletion: object): NotedDeletion {
  const members = Object.entries(deletion).map(([name, value]) => {
    if (!dates.includes(name)) return [name, value];
    const date = new Date(String(value));
    if (Number.isNaN(date.getTime())) throw new RangeError(`${name} is no date`);
    return [name, date];
  });
  return Object.fromEntries(members) as NotedDeletion;
}
