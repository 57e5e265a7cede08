import type { Db, Document, ObjectId } from 'mongodb';
import { callsCollection, idsOfOrganisation } from '../calls/prediction-segment.js';
import { idsOfJob, idsOfOrganisation as idsOfJobs } from '../jobs/job-documents.js';
import { bundleStorage, type ModelVersion } from '../models/model-versions.js';
import type { DocumentId, OwnIds } from './own-ids.js';

/** The organisation whose data is meant. */
export interface DataOwner {
  readonly organisationId: string;
  readonly ids: OwnIds;
}

/** A part of the data of an organisation. */
export interface DataPart {
  /** The collection, or the bucket of GridFS. Also the name of its count in the receipt. */
  readonly name: string;
  /** Whether the receipt has a count of it. */
  readonly isCounted: boolean;
  /** Documents that a step removes. */
  readonly perStep: number;
  /** Ids of some documents, in any order. */
  find(most: number): Promise<readonly DocumentId[]>;
  /** Idempotent. */
  remove(ids: readonly DocumentId[]): Promise<void>;
  /** Documents that are left. */
  count(): Promise<number>;
}

/** How the documents of an organisation are found in a collection. */
interface CollectionData {
  readonly collection: string;
  /** Some filters, each by an index. None: there is nothing to find. */
  readonly of: (owner: DataOwner) => readonly Document[];
  /** 500 by default; fewer of large documents. */
  readonly perStep?: number;
}

const byOrg = ({ organisationId: org }: DataOwner) => [{ org }];
const byOrganisation = ({ organisationId }: DataOwner) => [{ organisation_id: organisationId }];
/** In ASCII a semicolon follows the colon that ends the organisation's id. */
const byId = ({ organisationId }: DataOwner) => [{ _id: { $gte: `${organisationId}:`, $lt: `${organisationId};` } }];

const jobsAtOnce = 200;

/** The slices, blobs or parts of all jobs. */
const byJob = ({ ids: { jobs } }: DataOwner): Document[] =>
  Array.from({ length: Math.ceil(jobs.length / jobsAtOnce) }, (_, index) => ({
    $or: jobs.slice(index * jobsAtOnce, (index + 1) * jobsAtOnce).map((job) => ({ _id: idsOfJob(job) })),
  }));

/** Texts such as `<model>:<version>`, of all models. */
const ofModels = (member: string, models: readonly string[]): Document[] =>
  models.map((model) => ({ [member]: { $gte: `${model}:`, $lt: `${model};` } }));

/** The entries of the change log, which names keys by their hashes. */
function changesOf({ organisationId, ids: { models, keys } }: DataOwner): Document[] {
  return [{ $or: [{ id: { $in: [organisationId, ...models, ...keys] } }, ...ofModels('id', models)] }];
}

/**
 * All collections with data of an organisation, in the order of their removal: what is found by other documents comes
 * before these. `orgs` comes last, because queries of a neighbour with the same beginning of ids look for it.
 */
export const organisationData: readonly CollectionData[] = [
  { collection: 'job_slices', of: byJob },
  // Rows of a slice have up to 2 MiB, parts of an upload 1 MiB.
  { collection: 'job_blobs', of: byJob, perStep: 50 },
  { collection: 'job_uploads', of: byJob, perStep: 50 },
  { collection: 'jobs', of: ({ organisationId: org }) => [{ _id: idsOfJobs(org), org }] },
  { collection: 'job_locks', of: ({ organisationId }) => [{ _id: organisationId }] },
  { collection: 'idempotency', of: byId, perStep: 50 },
  { collection: 'candidate_scores', of: byCallId, perStep: 50 },
  { collection: 'candidate_runs', of: byOrg },
  { collection: callsCollection, of: byCallId, perStep: 50 },
  { collection: 'usage_daily', of: byId },
  { collection: 'field_days', of: byId, perStep: 50 },
  { collection: 'call_days', of: byOrg },
  { collection: 'outcomes', of: byOrg },
  { collection: 'validation_daily', of: byOrg },
  { collection: 'model_validation', of: byOrganisation },
  { collection: 'erasures', of: byOrg },
  { collection: 'audit_log', of: byOrg },
  { collection: 'console_links', of: byOrg },
  { collection: 'console_sessions', of: byOrg },
  { collection: 'console_members', of: byOrg },
  // After the files that they name.
  { collection: 'console_uploads', of: byOrg },
  { collection: 'model_versions', of: byOrganisation },
  { collection: 'models', of: byOrganisation },
  { collection: 'api_keys', of: byOrganisation },
  { collection: 'changes', of: changesOf },
];

/** Both the range of ids, which two organisations may share, and the organisation. */
function byCallId({ organisationId: org }: DataOwner): Document[] {
  return [{ _id: idsOfOrganisation(org), org }];
}

/** Collections without data of an organisation, with what they have. */
export const otherCollections: Readonly<Record<string, string>> = {
  orgs: 'the organisation itself, which goes last',
  org_deletions: 'the receipt',
  settings: 'settings of the installation',
  retention: 'the progress of upkeep; see the part of that name',
  'bundles.files': 'the part bundles',
  'bundles.chunks': 'the part bundles',
};

/** The parts of an organisation's data, in the order of their removal. */
export function dataParts(database: Db, owner: DataOwner): readonly DataPart[] {
  const files = bundleFiles(database, owner);
  const collections = organisationData.map((each) => collectionPart(database, each, owner));
  return [files, ...collections, retentionPart(database, owner)];
}

function collectionPart(database: Db, { collection, of, perStep = 500 }: CollectionData, owner: DataOwner): DataPart {
  const documents = database.collection<{ readonly _id: DocumentId }>(collection);
  const filters = of(owner);
  return {
    ...{ name: collection, perStep, isCounted: collection !== 'changes' },
    find: async (most) => {
      for (const filter of filters) {
        const found = await documents
          .find(filter, { projection: { _id: 1 } })
          .limit(most)
          .toArray();
        if (found.length > 0) return found.map(({ _id }) => _id);
      }
      return [];
    },
    remove: async (ids) => void (await documents.deleteMany({ _id: { $in: [...ids] } }, majority)),
    count: async () => {
      let count = 0;
      for (const filter of filters) count += await documents.countDocuments(filter);
      return count;
    },
  };
}

const majority = { writeConcern: { w: 'majority' } } as const;

/** Files of bundles and uploads: those that a document names, and those with the name of a model. */
function bundleFiles(database: Db, { organisationId, ids: { models } }: DataOwner): DataPart {
  const files = database.collection<{ readonly _id: ObjectId }>('bundles.files');
  const filter = async (): Promise<Document> => {
    const versions = await database
      .collection<ModelVersion>('model_versions')
      .find({ organisation_id: organisationId }, { projection: { files: 1 } })
      .toArray();
    const uploads = await database
      .collection<{ readonly org: string; readonly file: ObjectId }>('console_uploads')
      .find({ org: organisationId }, { projection: { file: 1 } })
      .toArray();
    const ofVersions = versions.flatMap(({ files: named }) => Object.values(named));
    const named = [...ofVersions, ...uploads.map(({ file }) => file)];
    return { $or: [{ _id: { $in: named } }, ...ofModels('filename', models)] };
  };
  return {
    ...{ name: 'bundles', perStep: 10, isCounted: true },
    find: async (most) => {
      const found = await files
        .find(await filter(), { projection: { _id: 1 } })
        .limit(most)
        .toArray();
      return found.map(({ _id }) => _id);
    },
    remove: (ids) => bundleStorage(database).remove(ids as readonly ObjectId[]),
    count: async () => await files.countDocuments(await filter()),
  };
}

/** The pass through all outcomes notes how far it came, by organisation and lead. */
function retentionPart(database: Db, { organisationId }: DataOwner): DataPart {
  const passes = database.collection<{ readonly _id: string }>('retention');
  const atOrganisation = { _id: 'outcomes', 'after.org': organisationId };
  return {
    ...{ name: 'retention', perStep: 1, isCounted: false },
    find: async () => ((await passes.findOne(atOrganisation)) === null ? [] : ['outcomes']),
    // The pass goes on with the first organisation that follows.
    remove: async () => {
      const after = { org: organisationId.slice(0, 'org_'.length + 6), crm_id: '' };
      await passes.updateOne(atOrganisation, { $set: { after } });
    },
    count: () => passes.countDocuments(atOrganisation),
  };
}
