import {
  type Abortable,
  type Db,
  type DeleteOptions,
  type InsertOneOptions,
  MongoServerError,
  ObjectId,
} from 'mongodb';
import { GOLDEN_FILE } from '../bundle/bundle-files.js';
import type { CheckedBundle } from '../bundle/check-bundle.js';
import type { FileToStore } from './bundle-storage.js';
import { inTime } from './in-time.js';
import { bundleStorage, type ModelVersion, versionId, versions, versionTimeoutMs } from './model-versions.js';
import { removeUnfinishedImports } from './unfinished-imports.js';

/** Another bundle is stored under this model and version already. */
export class VersionTaken extends Error {
  override name = 'VersionTaken';
}

/** Far more than the files' timeouts allow together. */
const longestImportMs = 60 * 60 * 1000;
const duplicateKey = 11_000;

/**
 * Stores a version of a model: files first, then the document that makes the version exist. An import that fails
 * leaves nothing behind; what one leaves whose process was killed is removed by a later import.
 * @param options `bundle`: a checked one; its manifest says the version. `now`: the time of the import
 * @returns `stored: false` when this very bundle is there already
 * @throws VersionTaken when the version is there with another content; what the driver throws, when it fails
 */
export async function storeVersion(options: {
  readonly database: Db;
  readonly organisationId: string;
  readonly modelId: string;
  readonly bundle: CheckedBundle;
  readonly now: Date;
}): Promise<{ stored: boolean }> {
  const { database, modelId, bundle } = options;
  if (await sameVersionStored(database, modelId, bundle)) return { stored: false };

  const files = {
    onnx: new ObjectId(),
    ...(bundle.covers === undefined ? {} : { covers: new ObjectId() }),
    ...(bundle.golden === undefined ? {} : { golden: new ObjectId() }),
  };
  const storage = bundleStorage(database);
  const before = new Date(files.onnx.getTimestamp().getTime() - longestImportMs);
  await removeUnfinishedImports({ database, storage, before, timeoutMs: versionTimeoutMs });
  try {
    for (const file of filesToStore(bundle, { modelId, files })) await storage.upload(file);
    await inTime(versionTimeoutMs, (signal) => {
      const how: InsertOneOptions & Abortable = { writeConcern: { w: 'majority' }, signal };
      return versions(database).insertOne(versionDocument(options, files), how);
    });
    return { stored: true };
  } catch (error) {
    await undo(database, { id: versionId(modelId, bundle.manifest.version), files }).catch(() => {
      // The store that refused the import refuses this too; the first error is the one to tell.
    });
    const beaten = error instanceof MongoServerError && error.code === duplicateKey;
    if (beaten && (await sameVersionStored(database, modelId, bundle))) return { stored: false };
    throw error;
  }
}

/** Whether this very bundle is stored already. Throws VersionTaken when another one is. */
async function sameVersionStored(database: Db, modelId: string, bundle: CheckedBundle): Promise<boolean> {
  const { version } = bundle.manifest;
  const found = await inTime(versionTimeoutMs, (signal) =>
    versions(database).findOne({ _id: versionId(modelId, version) }, { projection: { digest: 1 }, signal }),
  );
  if (found === null) return false;
  if (found.digest === bundle.digest) return true;
  throw new VersionTaken(
    `Version "${version}" of ${modelId} is stored already with other content, and versions are immutable: give ` +
      'the manifest another "version" and import it again',
  );
}

async function undo(
  database: Db,
  { id, files }: { id: string; files: ModelVersion['files'] },
): Promise<void> {
  // An insert whose reply was lost may have come through; it must not be left pointing at nothing.
  await inTime(versionTimeoutMs, (signal) => {
    const options: DeleteOptions & Abortable = { signal };
    return versions(database).deleteOne({ _id: id, 'files.onnx': files.onnx }, options);
  });
  await bundleStorage(database).remove(Object.values(files));
}

function filesToStore(
  { manifest, onnx, covers, golden }: CheckedBundle,
  { modelId, files }: { modelId: string; files: ModelVersion['files'] },
): FileToStore[] {
  const parts = [
    { id: files.onnx, name: manifest.onnx.file, bytes: onnx },
    { id: files.covers, name: 'covers', bytes: covers },
    { id: files.golden, name: GOLDEN_FILE, bytes: golden },
  ];
  return parts.flatMap(({ id, name, bytes }) => {
    if (id === undefined || bytes === undefined) return [];
    return [{ id, filename: `${versionId(modelId, manifest.version)}/${name}`, bytes }];
  });
}

function versionDocument(
  { organisationId, modelId, bundle, now }: Parameters<typeof storeVersion>[0],
  files: ModelVersion['files'],
): ModelVersion {
  const { version } = bundle.manifest;
  return {
    _id: versionId(modelId, version),
    model_id: modelId,
    version,
    organisation_id: organisationId,
    manifest: bundle.manifestBytes.toString('utf8'),
    digest: bundle.digest,
    files,
    imported_at: now,
  };
}
