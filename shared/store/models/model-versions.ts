import { createHash } from 'node:crypto';
import type { Collection, Db, ObjectId } from 'mongodb';
import { bundleDigest, goldenFile, manifestFile, parseJson } from '../../bundle/bundle-files.js';
import type { Manifest } from '../../bundle/manifest/manifest.js';
import type { MeanContribution } from '../../messages/bundle-check-job.js';
import type { ExplainMethod } from '../../messages/score-job.js';
import { withMongoTimeout } from '../connection/connect.js';
import { BundleStorage } from './bundle-storage.js';

/** One document of `model_versions`: one version of a model. Immutable. */
export interface ModelVersion {
  /** `<model id>:<version>` */
  readonly _id: string;
  readonly model_id: string;
  readonly version: string;
  readonly organisation_id: string;
  /** `manifest.json` as text, because BSON does not allow every key that an author may use. */
  readonly manifest: string;
  /** See `bundleDigest`. */
  readonly digest: string;
  /** How workers explain the version. */
  readonly explain_method: ExplainMethod;
  readonly contributions?: readonly MeanContribution[];
  /** Ids in the GridFS bucket `bundles`. */
  readonly files: { readonly onnx: ObjectId; readonly covers?: ObjectId; readonly golden?: ObjectId };
  readonly imported_at: Date;
}

/** A manifest read from the store. */
export interface StoredManifest {
  readonly manifest: Manifest;
  readonly explainMethod: ExplainMethod;
  readonly contributions?: readonly MeanContribution[];
}

/** The part of a stored bundle that scores. */
export interface StoredModel {
  readonly manifest: Manifest;
  readonly onnx: Buffer;
}

/** A bundle read from the store. */
export interface StoredBundle extends StoredModel {
  readonly covers?: Buffer;
  readonly golden?: Buffer;
  readonly digest: string;
}

/** Limit of one call to MongoDB or one file. */
export const versionTimeoutMs = 30_000;

/**
 * Reads the manifest of a version and how workers explain it; undefined if the version does not exist.
 * @throws the driver's error, or MongoTimeout
 */
export async function loadStoredManifest(
  database: Db,
  modelId: string,
  version: string,
): Promise<StoredManifest | undefined> {
  const projection = { manifest: 1, explain_method: 1, contributions: 1 };
  const document = await withMongoTimeout(versionTimeoutMs, (signal) =>
    versions(database).findOne({ _id: versionId(modelId, version) }, { projection, signal }),
  );
  if (document === null) return undefined;
  const { contributions, explain_method: explainMethod } = document;
  return { manifest: manifestOf(document), explainMethod, ...(contributions === undefined ? {} : { contributions }) };
}

/** As `loadStoredManifest`, the manifest alone. */
export async function loadManifest(database: Db, modelId: string, version: string): Promise<Manifest | undefined> {
  return (await loadStoredManifest(database, modelId, version))?.manifest;
}

/**
 * Reads the manifest and the ONNX file of a version, and verifies the file by the manifest's SHA-256; undefined if the
 * version does not exist.
 * @throws Error if the file is missing or does not match; the driver's error, or MongoTimeout
 */
export async function loadModel(database: Db, modelId: string, version: string): Promise<StoredModel | undefined> {
  const projection = { manifest: 1, 'files.onnx': 1 };
  const document = await withMongoTimeout(versionTimeoutMs, (signal) =>
    versions(database).findOne({ _id: versionId(modelId, version) }, { projection, signal }),
  );
  if (document === null) return undefined;
  const manifest = manifestOf(document);
  const onnx = await bundleStorage(database).download(document.files.onnx);
  const sha256 = createHash('sha256').update(onnx).digest('hex');
  if (sha256 !== manifest.onnx.sha256.toLowerCase()) throw changedFiles(document);
  return { manifest, onnx };
}

/**
 * Reads a version with all its files and verifies its digest; undefined if the version does not exist.
 * @throws Error if a file is missing or the digest does not match; the driver's error, or MongoTimeout
 */
export async function loadBundle(database: Db, modelId: string, version: string): Promise<StoredBundle | undefined> {
  const document = await withMongoTimeout(versionTimeoutMs, (signal) =>
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
    [manifestFile, Buffer.from(document.manifest)],
    [manifest.onnx.file, onnx],
  ]);
  if (covers !== undefined && manifest.explain?.kind === 'tree') members.set(manifest.explain.covers, covers);
  if (golden !== undefined) members.set(goldenFile, golden);
  if (bundleDigest(members) !== digest) throw changedFiles(document);
  return {
    manifest,
    onnx,
    ...(covers === undefined ? {} : { covers }),
    ...(golden === undefined ? {} : { golden }),
    digest,
  };
}

/**
 * The stored file of a version's golden records; undefined without one.
 * @throws the driver's error, or MongoTimeout
 */
export async function goldenFileOf(database: Db, modelId: string, version: string): Promise<ObjectId | undefined> {
  const document = await withMongoTimeout(versionTimeoutMs, (signal) =>
    versions(database).findOne({ _id: versionId(modelId, version) }, { projection: { 'files.golden': 1 }, signal }),
  );
  return document?.files.golden;
}

/**
 * The versions of a model without their manifests, latest import first.
 * @throws the driver's error, or MongoTimeout
 */
export function listVersions(database: Db, modelId: string): Promise<Omit<ModelVersion, 'manifest'>[]> {
  return withMongoTimeout(versionTimeoutMs, (signal) =>
    versions(database)
      .find(ofModel(modelId), { signal })
      .project<Omit<ModelVersion, 'manifest'>>({ manifest: 0 })
      .sort({ imported_at: -1, _id: 1 })
      .toArray(),
  );
}

/**
 * The versions of one or all models, by model. Read from the index alone.
 * @throws the driver's error, or MongoTimeout
 */
export async function versionsByModel(database: Db, modelId?: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = await withMongoTimeout(versionTimeoutMs, (signal) => {
    const filter = modelId === undefined ? {} : ofModel(modelId);
    return versions(database)
      .find(filter, { signal, projection: { _id: 1 }, hint: { _id: 1 } })
      .toArray();
  });
  const byModel = new Map<string, string[]>();
  for (const { _id } of found) {
    const colon = _id.indexOf(':');
    const listed = byModel.get(_id.slice(0, colon)) ?? [];
    byModel.set(_id.slice(0, colon), listed);
    listed.push(_id.slice(colon + 1));
  }
  return byModel;
}

/**
 * The versions of an organisation that have a bundle, latest import first. Reads all versions of all organisations, as
 * an import does anyway to remove unfinished ones.
 * @param digest see `bundleDigest`
 * @throws the driver's error, or MongoTimeout
 */
export function versionsWith(
  database: Db,
  of: { readonly organisationId: string; readonly digest: string },
): Promise<Pick<ModelVersion, 'model_id' | 'version'>[]> {
  const { organisationId: organisation_id, digest } = of;
  return withMongoTimeout(versionTimeoutMs, (signal) =>
    versions(database)
      .find({ organisation_id, digest }, { signal })
      .project<Pick<ModelVersion, 'model_id' | 'version'>>({ _id: 0, model_id: 1, version: 1 })
      .sort({ imported_at: -1, _id: 1 })
      .toArray(),
  );
}

function changedFiles({ _id }: Pick<ModelVersion, '_id'>): Error {
  return new Error(`The stored files of ${_id} do not match its digest: import it under a new version`);
}

/** The cast is safe: only checked manifests are stored. */
function manifestOf(document: Pick<ModelVersion, 'manifest'>): Manifest {
  return parseJson(Buffer.from(document.manifest), manifestFile) as Manifest;
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

/** The range of a model's version ids. In ASCII `;` follows `:`. */
function ofModel(modelId: string): { _id: { $gte: string; $lt: string } } {
  return { _id: { $gte: `${modelId}:`, $lt: `${modelId};` } };
}
