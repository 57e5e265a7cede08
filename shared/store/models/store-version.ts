import {
  type Abortable,
  type AggregateOptions,
  type Db,
  type DeleteOptions,
  type FindOptions,
  type InsertOneOptions,
  MongoServerError,
  ObjectId,
} from 'mongodb';
import { goldenFile } from '../../bundle/bundle-files.js';
import type { CheckedBundle } from '../../bundle/check-bundle.js';
import type { Explain } from '../../bundle/manifest/manifest.js';
import { newId } from '../../contract/identifiers.js';
import type { MeanContribution } from '../../messages/bundle-check-job.js';
import type { ExplainMethod } from '../../messages/score-job.js';
import { duplicateKey, withMongoTimeout } from '../connection/connect.js';
import type { FileToStore } from './bundle-storage.js';
import { bundleStorage, type ModelVersion, versionId, versions, versionTimeoutMs } from './model-versions.js';
import { type Model, ModelStore } from './models.js';

/** The model has this version with other content. */
export class VersionTaken extends Error {
  override name = 'VersionTaken';
}

const maxImportMs = 60 * 60 * 1000; // far more than the timeouts of all files together

/**
 * Stores a version of a model: first its files, then the document that makes the version exist. A failed import removes
 * its files; the files of a killed process are removed by a later import.
 * @param options.bundle its manifest gives the version
 * @param options.explainMethod how workers explain it; by default as the manifest promises
 * @param options.contributions of the golden records, for people
 * @returns `stored: false` if the version exists with the same content
 * @throws VersionTaken if the version exists with other content; the driver's error, or MongoTimeout
 */
export async function storeVersion(options: {
  readonly database: Db;
  readonly organisationId: string;
  readonly modelId: string;
  readonly bundle: CheckedBundle;
  readonly explainMethod?: ExplainMethod;
  readonly contributions?: readonly MeanContribution[];
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
  const before = new Date(files.onnx.getTimestamp().getTime() - maxImportMs);
  await removeUnfinishedImports(database, before);
  try {
    for (const file of filesToStore(bundle, { modelId, files })) await storage.upload(file);
    await withMongoTimeout(versionTimeoutMs, (signal) => {
      const how: InsertOneOptions & Abortable = { writeConcern: { w: 'majority' }, signal };
      return versions(database).insertOne(versionDocument(options, files), how);
    });
    return { stored: true };
  } catch (error) {
    await undo(database, { id: versionId(modelId, bundle.manifest.version), files }).catch(() => {
      // A store that fails the import may fail this too: the first error is the one to report.
    });
    const isDuplicate = error instanceof MongoServerError && error.code === duplicateKey;
    if (isDuplicate && (await sameVersionStored(database, modelId, bundle))) return { stored: false };
    throw error;
  }
}

/** Whether the version exists with the same content. Throws VersionTaken if it has other content. */
async function sameVersionStored(database: Db, modelId: string, bundle: CheckedBundle): Promise<boolean> {
  const { version } = bundle.manifest;
  const found = await withMongoTimeout(versionTimeoutMs, (signal) =>
    versions(database).findOne({ _id: versionId(modelId, version) }, { projection: { digest: 1 }, signal }),
  );
  if (found === null) return false;
  if (found.digest === bundle.digest) return true;
  throw new VersionTaken(
    `Version "${version}" of ${modelId} is stored already with other content, and versions are immutable: give ` +
      'the manifest another "version" and import the bundle again',
  );
}

async function undo(database: Db, { id, files }: { id: string; files: ModelVersion['files'] }): Promise<void> {
  // An insert whose reply was lost may have succeeded: its document must not outlive its files.
  await withMongoTimeout(versionTimeoutMs, (signal) => {
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
    { id: files.golden, name: goldenFile, bytes: golden },
  ];
  return parts.flatMap(({ id, name, bytes }) => {
    if (id === undefined || bytes === undefined) return [];
    return [{ id, filename: `${versionId(modelId, manifest.version)}/${name}`, bytes }];
  });
}

function versionDocument(
  { organisationId, modelId, bundle, explainMethod, contributions, now }: Parameters<typeof storeVersion>[0],
  files: ModelVersion['files'],
): ModelVersion {
  const { version, explain } = bundle.manifest;
  return {
    _id: versionId(modelId, version),
    model_id: modelId,
    version,
    organisation_id: organisationId,
    manifest: bundle.manifestBytes.toString('utf8'),
    digest: bundle.digest,
    explain_method: explainMethod ?? promisedMethod(explain),
    ...(contributions === undefined ? {} : { contributions }),
    files,
    imported_at: now,
  };
}

const promisedMethod = (explain: Explain | undefined): ExplainMethod =>
  explain === undefined || explain.kind === 'baseline' ? 'occlusion' : explain.kind;

/**
 * Removes what an import leaves whose process was killed: versions without a model, and files and chunks without a
 * version.
 * @param before skips younger files, which may belong to an import in progress; by the clock of the importing machine
 * @throws the driver's error, or MongoTimeout
 */
export async function removeUnfinishedImports(database: Db, before: Date): Promise<void> {
  const storage = bundleStorage(database);
  const firstTooYoung = ObjectId.createFromTime(Math.floor(before.getTime() / 1000));
  const withoutModel = [
    { $match: { 'files.onnx': { $lt: firstTooYoung } } },
    { $lookup: { from: 'models', localField: 'model_id', foreignField: '_id', as: 'models' } },
    { $match: { models: { $size: 0 } } },
    { $project: { _id: 1 } },
  ];
  await withMongoTimeout(versionTimeoutMs, async (signal) => {
    const options: AggregateOptions & DeleteOptions & Abortable = { signal };
    const abandoned = await versions(database).aggregate<Pick<ModelVersion, '_id'>>(withoutModel, options).toArray();
    await versions(database).deleteMany({ _id: { $in: abandoned.map(({ _id }) => _id) } }, options);
  });
  const old = await storage.idsBefore(firstTooYoung);
  const referring = await withMongoTimeout(versionTimeoutMs, (signal) => {
    const options: FindOptions & Abortable = { signal, projection: { files: 1 } };
    return versions(database).find({}, options).toArray();
  });
  const used = new Set(referring.flatMap(({ files }) => Object.values(files).map(String)));
  const unused = old.filter((id) => !used.has(String(id)));
  if (unused.length > 0) await storage.remove(unused);
}

export interface NewModel {
  readonly organisationId: string;
  /** The manifest of the bundle gives name, family and version. */
  readonly bundle: CheckedBundle;
  /** See `storeVersion`. */
  readonly explainMethod?: ExplainMethod;
  readonly contributions?: readonly MeanContribution[];
  readonly now: Date;
  /** `mdl_…`; a new id by default. */
  readonly modelId?: string;
  /** True by default. */
  readonly liveApi?: boolean;
}

/** The document of a new model whose active version is a bundle. */
export function newModel({ modelId = newId('mdl'), liveApi = true, organisationId, bundle, now }: NewModel): Model {
  const { name, family, version } = bundle.manifest;
  return {
    _id: modelId,
    organisation_id: organisationId,
    name,
    family,
    live_api: liveApi,
    version,
    created_at: now,
  };
}

/**
 * Stores a bundle as a new model of an organisation and activates its version.
 * @throws the driver's error, or MongoTimeout; a later import removes a version without a model
 */
export async function createModel(database: Db, options: NewModel): Promise<Model> {
  const model = newModel(options);
  // The version first, so that an existing model always has its version.
  await storeVersion({ ...options, database, modelId: model._id });
  await new ModelStore(database).create(model);
  return model;
}
