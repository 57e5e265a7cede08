import { BSON, type Db, type Document, MinKey } from 'mongodb';
import { base62, digitsOf } from '../../contract/identifiers.js';
import { callsCollection } from '../calls/prediction-segment.js';
import { callDayIndex } from '../console/call-days.js';
import { outcomeIndex } from '../validation/outcomes.js';

/** A collection that grows with the calls, and its shard key. All keys begin with the organisation. */
interface ShardedCollection {
  readonly name: string;
  readonly key: Document;
  /** The least key of the organisations whose ids go on with a text after `org_`. */
  readonly keyFrom: (text: string) => Document;
}

const byJob = (text: string): Document => ({ _id: `job_${text}` });
const byOrganisation = (text: string): Document => ({ _id: `org_${text}` });

/**
 * The sharded collections; each query on them names an organisation. All others stay on the primary shard of the
 * database. They are small: a document for each organisation, key, model, version, graded day or erased lead.
 */
export const shardedCollections: readonly ShardedCollection[] = [
  { name: callsCollection, key: { _id: 1 }, keyFrom: (text) => ({ _id: text }) },
  { name: 'candidate_scores', key: { _id: 1 }, keyFrom: (text) => ({ _id: text }) },
  { name: 'idempotency', key: { _id: 1 }, keyFrom: byOrganisation },
  { name: 'outcomes', key: outcomeIndex, keyFrom: (text) => ({ org: `org_${text}`, crm_id: new MinKey() }) },
  {
    name: 'call_days',
    key: callDayIndex,
    keyFrom: (text) => ({ org: `org_${text}`, day: new MinKey() }),
  },
  { name: 'job_slices', key: { _id: 1 }, keyFrom: byJob },
  { name: 'job_blobs', key: { _id: 1 }, keyFrom: byJob },
  { name: 'job_uploads', key: { _id: 1 }, keyFrom: byJob },
  { name: 'usage_daily', key: { _id: 1 }, keyFrom: byOrganisation },
  { name: 'field_days', key: { _id: 1 }, keyFrom: byOrganisation },
];

/** The parts of a cluster's state that the commands depend on. */
export interface ClusterState {
  /** Ids of the shards. */
  readonly shards: readonly string[];
  /** Ranges of zones, by namespace. */
  readonly zones: readonly {
    readonly ns: string;
    readonly min: Document;
    readonly max: Document;
    readonly tag: string;
  }[];
  /** Namespaces of the sharded collections. */
  readonly sharded: readonly string[];
}

/**
 * Reads the state of a cluster through a mongos.
 * @returns undefined if the server is no mongos
 * @throws the driver's error
 */
export async function readCluster(database: Db): Promise<ClusterState | undefined> {
  const { client } = database;
  const { msg } = await client.db('admin').command({ hello: 1 });
  if (msg !== 'isdbgrid') return undefined;
  const { shards } = await client.db('admin').command({ listShards: 1 });
  const config = client.db('config');
  const ofDatabase = { $gte: `${database.databaseName}.`, $lt: `${database.databaseName}/` };
  const zones = await config.collection('tags').find({ ns: ofDatabase }).toArray();
  const sharded = await config.collection<{ readonly _id: string }>('collections').find({ _id: ofDatabase }).toArray();
  return {
    shards: shards.map(({ _id }: Document) => String(_id)).sort(),
    zones: zones.map(({ ns, min, max, tag }) => ({ ns, min, max, tag })),
    sharded: sharded.map(({ _id }) => _id),
  };
}

const pointLength = 2;
const zonePrefix = 'leadscore-';

/**
 * The admin commands that shard a database: one zone a shard, with an equal range of organisations in each sharded
 * collection. All that an organisation stores then lies on one shard, and its transactions need no other. Idempotent:
 * with the state that they cause, only commands without effect are left. After a shard was added, they move the ranges.
 */
export function shardCommands(databaseName: string, { shards, zones, sharded }: ClusterState): Document[] {
  const points = shards.slice(1).map((_, index) => {
    const point = Math.round(((index + 1) / shards.length) * base62.length ** pointLength);
    return digitsOf(point, base62, pointLength);
  });
  const commands: Document[] = [
    { enableSharding: databaseName },
    ...shards.map((shard) => ({ addShardToZone: shard, zone: `${zonePrefix}${shard}` })),
  ];
  for (const { name, key, keyFrom } of shardedCollections) {
    const ns = `${databaseName}.${name}`;
    const least = Object.fromEntries(Object.keys(key).map((field) => [field, new MinKey()]));
    const greatest = Object.fromEntries(Object.keys(key).map((field) => [field, new BSON.MaxKey()]));
    const bounds = [least, ...points.map(keyFrom), greatest];
    const wanted = shards.map((shard, index) => ({
      updateZoneKeyRange: ns,
      min: bounds[index],
      max: bounds[index + 1],
      zone: `${zonePrefix}${shard}`,
    }));
    const texts = new Set(wanted.map(({ min, max, zone }) => textOf({ min, max, zone })));
    // Ranges may not overlap. An operator's own zones stay.
    for (const { ns: other, min, max, tag: zone } of zones)
      if (other === ns && zone.startsWith(zonePrefix) && !texts.has(textOf({ min, max, zone })))
        commands.push({ updateZoneKeyRange: ns, min, max, zone: null });
    commands.push(...wanted);
    if (!sharded.includes(ns)) commands.push({ shardCollection: ns, key });
  }
  return commands;
}

const textOf = (document: Document): string => BSON.EJSON.stringify(document);
