import type { Abortable, Collection, Db, DeleteOptions, ObjectId } from 'mongodb';

import { bundleDigest, GOLDEN_FILE, MANIFEST_FILE, parseJson } from '../bundle/bundle-files.js';
import type { Manifest } from '../bundle/manifest.js';
import { BundleStorage } from './bundle-storage.js';
import { inTime } from './in-time.js';

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

/** Of one call to MongoDB, and of each file. */
export const versionTimeoutMs = 30_000;

/**
 * @returns the manifest of a version; undefined when it is not stored
 * @throws what the driver throws
 */
export async function loadManifest(
  database: Db,
  modelId: string,
  version: string,
): Promise<Manifest | undefined> {
  const document = await inTime(versionTimeoutMs, (signal) =>
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
  const document = await inTime(versionTimeoutMs, (signal) =>
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
  return inTime(versionTimeoutMs, (signal) =>
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
  const { deletedCount } = await inTime(versionTimeoutMs, (signal) => {
    const options: DeleteOptions & Abortable = { signal };
    return versions(database).deleteMany(ofModel(modelId), options);
  });
  await storage.remove(await storage.idsWithPrefix(`${modelId}:`));
  return deletedCount;
}

/** The manifest was checked before it was stored, and the store is the service's own. */
function manifestOf(document: Pick<ModelVersion, 'manifest'>): Manifest {
  return parseJson(Buffer.from(document.manifest), MANIFEST_FILE) as Manifest;
}

export function versions(database: Db): Collection<ModelVersion> {
  return database.collection<ModelVersion>('model_versions');
}

export function bundleStorage(database: Db): BundleStorage {
  return new BundleStorage(database, { timeoutMs: versionTimeoutMs });
}

export function versionId(modelId: string, version: string): string {
  return `${modelId}:${version}`;
}

/** All ids that begin with the model's: `;` is the character after `:`. */
function ofModel(modelId: string): { _id: { $gte: string; $lt: string } } {
  return { _id: { $gte: `${modelId}:`, $lt: `${modelId};` } };
}
