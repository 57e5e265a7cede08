import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRunningOn } from './process-command.js';

/** What a data directory says about the servers that run on it: its file `servers.json`. */
export interface ServerRecord {
  readonly redisUrl: string;
  readonly mongoUrl: string;
  /** The process that started them and will stop them. */
  readonly ownerPid: number;
  /** The servers themselves; a server that was somebody else's already is not among them. */
  readonly serverPids: readonly number[];
  readonly startedAtMs: number;
}

const recordFile = (directory: string): string => join(directory, 'servers.json');

/**
 * Writes down which servers run on a directory. Readable by this user only: a URL may hold a password.
 * @param directory their data directory
 * @param record what is written
 */
export async function writeServerRecord(directory: string, record: ServerRecord): Promise<void> {
  const part = `${recordFile(directory)}.${process.pid}.part`;
  await writeFile(part, `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o600 });
  await rename(part, recordFile(directory));
}

/**
 * What was last written down about a directory, whether it still holds or not.
 * @param directory a data directory
 * @returns undefined when nothing was, or when it cannot be read
 */
export async function readServerRecord(directory: string): Promise<ServerRecord | undefined> {
  try {
    const record: unknown = JSON.parse(await readFile(recordFile(directory), 'utf8'));
    return isServerRecord(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Forgets what was written down about a directory.
 * @param directory a data directory
 */
export async function removeServerRecord(directory: string): Promise<void> {
  await rm(recordFile(directory), { force: true });
}

/**
 * The records of all servers that run on data directories inside a folder, newest first. Removes stale records.
 * @param folder holds data directories, as `.local` does; may be missing
 */
export async function runningServerRecords(folder: string): Promise<ServerRecord[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const running: ServerRecord[] = [];
  for (const entry of entries.filter((each) => each.isDirectory())) {
    const directory = join(folder, entry.name);
    const record = await readServerRecord(directory);
    if (record === undefined) continue;
    const alive = await Promise.all(record.serverPids.map((pid) => isRunningOn({ pid, directory })));
    if (alive.every(Boolean)) running.push(record);
    else if (!alive.some(Boolean)) await removeServerRecord(directory);
  }
  return running.sort((one, other) => other.startedAtMs - one.startedAtMs);
}

function isServerRecord(value: unknown): value is ServerRecord {
  if (typeof value !== 'object' || value === null) return false;
  const record: Partial<Record<keyof ServerRecord, unknown>> = value;
  return (
    typeof record.redisUrl === 'string' &&
    typeof record.mongoUrl === 'string' &&
    typeof record.ownerPid === 'number' &&
    typeof record.startedAtMs === 'number' &&
    Array.isArray(record.serverPids) &&
    record.serverPids.every((pid) => Number.isInteger(pid) && pid > 1)
  );
}
