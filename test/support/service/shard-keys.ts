import type { Db, Document } from 'mongodb';
import { shardedCollections } from '../../../shared/store/connection/sharding.js';

/** One entry of `system.profile`. */
interface Profiled {
  readonly op: string;
  readonly ns: string;
  readonly appName?: string;
  readonly command: Document;
  readonly planSummary?: string;
}

/** A filter on a sharded collection, and the command that it is part of. */
export interface ShardedQuery {
  readonly collection: string;
  readonly filter: Document;
  readonly planSummary: string;
  readonly command: Document;
}

/** Makes MongoDB note every command on a database. */
export async function profile(database: Db): Promise<void> {
  await database.command({ profile: 0 });
  await database.dropCollection('system.profile').catch(() => undefined);
  await database.createCollection('system.profile', { capped: true, size: 64 * 1024 * 1024 });
  await database.command({ profile: 2 });
}

/**
 * The filters on sharded collections among the noted commands of Leadscore's processes. Left out: inserts, whose
 * documents have the shard key, and reads of further batches.
 */
export async function shardedQueries(database: Db): Promise<ShardedQuery[]> {
  const noted = database.collection<Profiled>('system.profile').find({ appName: /^leadscore-/ });
  const queries: ShardedQuery[] = [];
  for await (const { op, ns, command, planSummary = '' } of noted) {
    if (op === 'insert' || op === 'getmore') continue;
    const name = ns.slice(ns.indexOf('.') + 1);
    for (const [collection, filter] of filtersOf(name, command))
      if (shardedCollections.some((sharded) => sharded.name === collection))
        queries.push({ collection, filter, planSummary, command });
  }
  return queries;
}

function filtersOf(collection: string, command: Document): [string, Document][] {
  if (command.insert !== undefined || command.createIndexes !== undefined || command.create !== undefined) return [];
  if (Array.isArray(command.pipeline)) return ofPipeline(collection, command.pipeline);
  return [[collection, command.filter ?? command.q ?? command.query ?? {}]];
}

/** The filter of a pipeline's first stage, and those of its joins. */
function ofPipeline(collection: string, pipeline: readonly Document[]): [string, Document][] {
  const [first = {}] = pipeline;
  const own: [string, Document][] = first.$documents === undefined ? [[collection, first.$match ?? {}]] : [];
  const joined = pipeline.flatMap(({ $lookup }): [string, Document][] => {
    if ($lookup === undefined) return [];
    const { from, foreignField, pipeline: inner = [] } = $lookup;
    const match = inner[0]?.$match ?? {};
    return [[from, foreignField === '_id' ? { ...match, _id: 'of the document' } : match]];
  });
  return [...own, ...joined];
}

/** The length of the part of `_id` that is the same for all documents of an organisation. */
const prefixLengths: Readonly<Record<string, number>> = {
  ...{ calls: 6, candidate_scores: 6, idempotency: 10, usage_daily: 10, field_days: 10 },
  ...{ job_slices: 10, job_blobs: 10, job_uploads: 10 },
};

/** Whether a filter limits the shard key to one organisation, or to given documents. */
export function namesItsShard({ collection, filter }: ShardedQuery): boolean {
  if (collection === 'outcomes' || collection === 'call_days') return typeof filter.org === 'string';
  const { _id: id = {} } = filter;
  if (typeof id === 'string' || Array.isArray(id.$in)) return true;
  const [from, to] = [id.$gte ?? id.$gt, id.$lt ?? id.$lte];
  const length = prefixLengths[collection] ?? 0;
  return typeof from === 'string' && typeof to === 'string' && from.slice(0, length) === to.slice(0, length);
}
