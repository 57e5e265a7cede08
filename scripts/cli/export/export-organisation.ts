import { fieldNames } from '../../../shared/admin/leads/named-fields.js';
import { goldenFile, manifestFile } from '../../../shared/bundle/bundle-files.js';
import { callIdFloor } from '../../../shared/contract/identifiers.js';
import { type Redis, redisNowMs } from '../../../shared/redis/connect.js';
import type { CallDocument } from '../../../shared/store/calls/call-documents.js';
import { ErasureStore } from '../../../shared/store/calls/erasures.js';
import { callIdOf, callsCollection, idsOfOrganisation, rowOf } from '../../../shared/store/calls/prediction-segment.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import { loadBundle } from '../../../shared/store/models/model-versions.js';
import { CliError } from '../context/cli-error.js';
import type { ProgressState } from '../output/progress.js';
import { ArchiveFile } from './archive-file.js';
import { exportCollection, exportedCollections } from './exported-collections.js';

/** Counts of an export. */
export interface ExportCounts {
  readonly calls: number;
  readonly records: number;
  readonly bundles: number;
  /** Documents of the other collections, by the name of their members. */
  readonly documents: Readonly<Record<string, number>>;
}

export interface ExportOptions {
  readonly database: Db;
  readonly redis: Redis;
  readonly organisationId: string;
  readonly path: string;
  readonly onProgress: (state: ProgressState) => void;
}

/**
 * Writes all that is stored of an organisation to an archive. It has all calls that were recorded before its start.
 * @throws CliError when the file cannot be written, or when leads were erased meanwhile. Then there is no file
 */
export async function exportOrganisation(options: ExportOptions): Promise<ExportCounts> {
  const { database, redis, organisationId, path } = options;
  const startMs = await redisNowMs(redis);
  const startedAt = new Date(startMs);
  const archive = new ArchiveFile(path, startedAt);
  try {
    const { calls, records } = await exportCalls(archive, options, startMs);
    const documents: Record<string, number> = {};
    for (const each of exportedCollections) {
      const lines = archive.lines(each.name);
      await exportCollection(database, each, { organisationId, lines });
      documents[each.name] = lines.documents;
    }
    const bundles = await exportBundles(archive, options);
    await requireNoErasure(database, { organisationId, startedAt });
    const counts = { calls, records, bundles, documents };
    await archive.finish({ organisation_id: organisationId, started_at: startedAt.toISOString(), ...counts });
    return counts;
  } catch (error) {
    await archive.discard();
    throw error;
  }
}

/** Calls as they are counted, and their records with the names of the fields. Voided calls have no records. */
async function exportCalls(
  archive: ArchiveFile,
  { database, organisationId: org, onProgress }: ExportOptions,
  startMs: number,
): Promise<{ readonly calls: number; readonly records: number }> {
  const ids = { ...idsOfOrganisation(org), $lt: callIdFloor(startMs + 1, org) };
  const collection = database.collection<CallDocument>(callsCollection);
  // For the progress alone, from the index: few organisations have the same beginning of ids.
  const total = await collection.countDocuments({ _id: ids }, { hint: { _id: 1 } });
  const [calls, records] = [archive.lines('calls'), archive.lines('records')];
  const namesOf = fieldNames(database);
  let read = 0;
  for await (const document of collection.find({ _id: ids, org }).sort({ _id: 1 })) {
    const { _id, model, version, at } = document;
    if ('request_id' in document) {
      const { request_id, key, bucket, month, records: counted, voided_at } = document;
      const base = { call_id: _id, at, request_id, key_id: key, bucket, month, records: counted };
      await calls.add({ ...base, model_id: model, version, ...(voided_at === undefined ? {} : { voided_at }) });
    }
    if ('scores' in document && document.scores !== undefined) {
      const { crm_ids: crmIds = [], scores, likelihoods = [], fields = [] } = document;
      const named = await namesOf(model, version);
      for (const [index, score] of scores.entries()) {
        await records.add({
          ...{ call_id: callIdOf(_id), row: rowOf(_id) + index, at, model_id: model, version },
          ...{ crm_id: crmIds[index] ?? null, score, conversion_likelihood: (likelihoods[index] ?? 0) / 10_000 },
          fields: named(fields[index]),
        });
      }
    }
    read += 1;
    onProgress({ done: records.documents, fraction: Math.min(1, read / Math.max(1, total)) });
  }
  await calls.flush();
  await records.flush();
  return { calls: calls.documents, records: records.documents };
}

/** The files of each version, as its author brought them. */
async function exportBundles(archive: ArchiveFile, { database, organisationId }: ExportOptions): Promise<number> {
  const versions = database
    .collection<{ _id: string; model_id: string; version: string; manifest: string }>('model_versions')
    .find({ organisation_id: organisationId }, { projection: { model_id: 1, version: 1, manifest: 1 } });
  let bundles = 0;
  for await (const { model_id, version, manifest: text } of versions) {
    const bundle = await loadBundle(database, model_id, version);
    if (bundle === undefined) continue;
    const { manifest, onnx, covers, golden } = bundle;
    const folder = `bundles/${model_id}/${encodeURIComponent(version)}`;
    await archive.add(`${folder}/${manifestFile}`, Buffer.from(text));
    await archive.add(`${folder}/${manifest.onnx.file}`, onnx);
    if (covers !== undefined && manifest.explain?.kind === 'tree')
      await archive.add(`${folder}/${manifest.explain.covers}`, covers);
    if (golden !== undefined) await archive.add(`${folder}/${goldenFile}`, golden);
    bundles += 1;
  }
  return bundles;
}

/** An archive may hold a lead that was erased while it was written. */
async function requireNoErasure(
  database: Db,
  { organisationId, startedAt }: { readonly organisationId: string; readonly startedAt: Date },
): Promise<void> {
  const erasures = await new ErasureStore(database).countSince(organisationId, startedAt);
  if (erasures === 0) return;
  throw new CliError(
    `Leads were erased during the export (${erasures}), and the archive may name them. It was removed. Run the command ` +
      'again in two minutes',
    { code: 'erased_meanwhile' },
  );
}
