import { type Abortable, type Db, type FindOptions, ObjectId } from 'mongodb';
import type { BundleStorage } from './bundle-storage.js';
import { inTime } from './in-time.js';

/**
 * Removes files, and chunks of files, that no version refers to: what is left of imports whose process was killed.
 * @param options `before`: only what was begun before this time (of the machines' own clocks) is looked at, so that
 *   an import in progress is left alone. `timeoutMs`: for each call
 * @throws what the driver throws, or MongoSilent after the timeout
 */
export async function removeUnfinishedImports({
  database,
  storage,
  before,
  timeoutMs,
}: {
  database: Db;
  storage: BundleStorage;
  before: Date;
  timeoutMs: number;
}): Promise<void> {
  const firstTooYoung = ObjectId.createFromTime(Math.floor(before.getTime() / 1000));
  const old = await storage.idsBefore(firstTooYoung);
  const referring = await inTime(timeoutMs, (signal) => {
    const options: FindOptions & Abortable = { signal, projection: { files: 1 } };
    const versions = database.collection<{ files: Record<string, ObjectId> }>('model_versions');
    return versions.find({}, options).toArray();
  });
  const used = new Set(referring.flatMap(({ files }) => Object.values(files).map(String)));
  const unused = old.filter((id) => !used.has(String(id)));
  if (unused.length > 0) await storage.remove(unused);
}
