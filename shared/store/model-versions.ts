import {
  type Abortable,
  type Collection,
  type Db,
  type DeleteOptions,
  type InsertOneOptions,
  MongoServerError,
  ObjectId,
} from 'mongodb';
import { bundleDigest } from '../bundle/bundle-digest.js';
import { GOLDEN_FILE, MANIFEST_FILE } from '../bundle/bundle-files.js';
import type { CheckedBundle } from '../bundle/check-bundle.js';
import type { Manifest } from '../bundle/manifest.js';
import { parseJson } from '../bundle/text-members.js';
import { BundleStorage, type FileToStore } from './bundle-storage.js';
import { inTime } from './in-time.js';
import { removeUnfinishedImports } from './unfinished-imports.js';

/** One document of `model_versions`: one version of one model, never changed once it is there. */
export interface ModelVersion {
  /** `<model id>:<version>` */
  readonly _id: string;
  readonly model_id: string;
  readonly version: string;
  readonly organisation_id: string;
  /** `manifest.json` as text: its keys are the author's, and BSON does not take any key. */
  readonly manifest: string;
  /** See `bundleDigest`. */
  readonly digest: string;
  /** Ids in the GridFS bucket `bundles`. */
  readonly files: { readonly onnx: ObjectId; readonly covers?: ObjectId; readonly golden?: ObjectId };
  readonly imported_at: Date;
}

/** A bundle as it comes back from the store. */
export interface StoredBundle {
  readonly manifest: Manifest;
  readonly onnx: Buffer;
  readonly covers?: Buffer;
  readonly golden?: Buffer;
  readonly digest: string;
}

/** Another bundle is stored under this model and version already. */
export class VersionTaken extends Error {
  override name = 'VersionTaken';
}

const TIMEOUT_MS = 30_000;
/** Far more than the files' timeouts allow together. */
const LONGEST_IMPORT_MS = 60 * 60 * 1000;
const DUPLICATE_KEY = 11000;

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
  const before = new Date(files.onnx.getTimestamp().getTime() - LONGEST_IMPORT_MS);
  await removeUnfinishedImports({ database, storage, before, timeoutMs: TIMEOUT_MS });
  try {
    for (const file of filesToStore(bundle, { modelId, files })) await storage.upload(file);
    await inTime(TIMEOUT_MS, (signal) => {
      const how: InsertOneOptions & Abortable = { writeConcern: { w: 'majority' }, signal };
      return versions(database).insertOne(versionDocument(options, files), how);
    });
    return { stored: true };
  } catch (error) {
    await undo(database, { id: versionId(modelId, bundle.manifest.version), files }).catch(() => {
      // The store that refused the import refuses this too; the first error is the one to tell.
    });
    const beaten = error instanceof MongoServerError && error.code === DUPLICATE_KEY;
    if (beaten && (await sameVersionStored(database, modelId, bundle))) return { stored: false };
    throw error;
  }
}

/**
 * @returns the manifest of a version; undefined when it is not stored
 * @throws what the driver throws
 */
export async function loadManifest(
  database: Db,
  modelId: string,
  version: string,
): Promise<Manifest | undefined> {
  const document = await inTime(TIMEOUT_MS, (signal) =>
    versions(database).findOne({ _id: versionId(modelId, version) }, { projection: { manifest: 1 }, signal }),
  );
  return document === null ? undefined : manifestOf(document);
}

/**
 * @returns everything that was stored of a version, proved to be what was stored; undefined when it is not there
 * @throws Error when a file is missing or does not match the digest; what the driver throws
 */
export async function loadBundle(
  database: Db,
  modelId: string,
  version: string,
): Promise<StoredBundle | undefined> {
  const document = await inTime(TIMEOUT_MS, (signal) =>
    versions(database).findOne({ _id: versionId(modelId, version) }, { signal }),
  );
  if (document === null) return undefined;
  const storage = bundleStorage(database);
  const fetched = (id: ObjectId | undefined) => (id === undefined ? undefined : storage.download(id));
  const { files, digest } = document;
  const [onnx, covers, golden] = await Promise.all([
    storage.download(files.onnx),
    fetched(files.covers),
    fetched(files.golden),
  ]);
  const manifest = manifestOf(document);
  const members = new Map([
    [MANIFEST_FILE, Buffer.from(document.manifest)],
    [manifest.onnx.file, onnx],
  ]);
  if (covers !== undefined && manifest.explain?.kind === 'tree') members.set(manifest.explain.covers, covers);
  if (golden !== undefined) members.set(GOLDEN_FILE, golden);
  if (bundleDigest(members) !== digest) {
    throw new Error(`What is stored of ${document._id} does not match its digest`);
  }
  return {
    manifest,
    onnx,
    ...(covers === undefined ? {} : { covers }),
    ...(golden === undefined ? {} : { golden }),
    digest,
  };
}

/**
 * @returns the versions of a model without their manifests, the last import first
 * @throws what the driver throws
 */
export function listVersions(database: Db, modelId: string): Promise<Omit<ModelVersion, 'manifest'>[]> {
  return inTime(TIMEOUT_MS, (signal) =>
    versions(database)
      .find(ofModel(modelId), { signal })
      .project<Omit<ModelVersion, 'manifest'>>({ manifest: 0 })
      .sort({ imported_at: -1, _id: 1 })
      .toArray(),
  );
}

/**
 * Removes every version of a model, and the files of its imports that never came to their end.
 * @returns how many versions there were
 * @throws what the driver throws; can then be called again
 */
export async function deleteVersions(database: Db, modelId: string): Promise<number> {
  const storage = bundleStorage(database);
  // The documents go first: a version that is there always has its files.
  const { deletedCount } = await inTime(TIMEOUT_MS, (signal) => {
    const options: DeleteOptions & Abortable = { signal };
    return versions(database).deleteMany(ofModel(modelId), options);
  });
  await storage.remove(await storage.idsWithPrefix(`${modelId}:`));
  return deletedCount;
}

/** Whether this very bundle is stored already. Throws VersionTaken when another one is. */
async function sameVersionStored(database: Db, modelId: string, bundle: CheckedBundle): Promise<boolean> {
  const { version } = bundle.manifest;
  const found = await inTime(TIMEOUT_MS, (signal) =>
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
  await inTime(TIMEOUT_MS, (signal) => {
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

/** The manifest was checked before it was stored, and the store is the service's own. */
function manifestOf(document: Pick<ModelVersion, 'manifest'>): Manifest {
  return parseJson(Buffer.from(document.manifest), MANIFEST_FILE) as Manifest;
}

function versions(database: Db): Collection<ModelVersion> {
  return database.collection<ModelVersion>('model_versions');
}

function bundleStorage(database: Db): BundleStorage {
  return new BundleStorage(database, { timeoutMs: TIMEOUT_MS });
}

function versionId(modelId: string, version: string): string {
  return `${modelId}:${version}`;
}

/** All ids that begin with the model's: `;` is the character after `:`. */
function ofModel(modelId: string): { _id: { $gte: string; $lt: string } } {
  return { _id: { $gte: `${modelId}:`, $lt: `${modelId};` } };
}
