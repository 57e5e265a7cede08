import { dayMs } from '../../../shared/contract/dates.js';
import { callIdFloor } from '../../../shared/contract/identifiers.js';
import { callsCollection } from '../../../shared/store/calls/prediction-segment.js';
import type { Db, MongoClient } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { coldOrganisations, type FleetOrganisation, writeOrganisations } from './fleet-accounts.js';
import { storedFields, writePredictions } from './fleet-predictions.js';
import type { FleetSize } from './fleet-size.js';

/** Raised when the generator writes other data: databases of another version are generated again. */
const generatorVersion = 4;
const stampId = 'stamp';
/** Later than any run on a database. */
const longestMs = 10 * 365 * dayMs;
const coldPredictionsShare = 0.01;
/** Collections with the organisations, the same in every database of a fleet. */
const accountCollections = [
  'orgs',
  'api_keys',
  'models',
  'model_versions',
  'bundles.files',
  'bundles.chunks',
  'model_validation',
  'bench_fleet',
];

interface Stamp {
  readonly _id: typeof stampId;
  readonly generator: number;
  readonly size: string;
  /** Later calls were made by an earlier run of the benchmark. */
  readonly endMs: number;
}

/** A database of the fleet. */
export interface FleetData {
  readonly name: string;
  readonly database: Db;
  readonly organisations: readonly FleetOrganisation[];
}

/**
 * Opens a database with a number of stored predictions. Generates it if it is missing or of another version. Removes
 * the calls of earlier runs.
 * @param options.like a database whose organisations are copied; without it they are written
 */
export async function openFleet(
  client: MongoClient,
  options: {
    readonly size: FleetSize;
    readonly predictions: number;
    readonly like: FleetData | undefined;
    readonly bundlePath: string;
  },
  say: (line: string) => void,
): Promise<FleetData> {
  const { size, predictions, like, bundlePath } = options;
  const name = `fleet_${predictions}`;
  const database = client.db(name);
  const stamps = database.collection<Stamp>('bench_stamp');
  const { organisations: count, models, activeModels, otherModels } = size;
  const text = JSON.stringify([
    count,
    models,
    activeModels,
    otherModels,
    predictions,
    callIdFloor(0, 'org_0a1b2c3d4e5f6g7h'),
  ]);
  const stamp = await stamps.findOne({ _id: stampId });
  const isUsable = stamp?.generator === generatorVersion && stamp.size === text;
  if (isUsable) {
    const organisations = await organisationsOf(database);
    await removeCallsSince(database, stamp.endMs, organisations);
    // A verdict of an earlier night would be graded during the first windows.
    await database.collection('model_validation').updateMany({}, { $set: { graded_at: new Date() } });
    return { name, database, organisations };
  }
  say(`generating the database ${name}`);
  await database.dropDatabase();
  await prepareDatabase(database);
  if (like !== undefined) await copyAccounts(like, name);
  else {
    const written = await writeOrganisations(database, { bundlePath, size }, say);
    await database.collection<FleetOrganisation>('bench_fleet').insertMany(written);
  }
  const organisations = await organisationsOf(database);
  const cold = coldOrganisations(size);
  const endMs = Date.now() - 1_000;
  const coldEach = Math.ceil(predictions * coldPredictionsShare);
  const groups = [
    { organisations: organisations.slice(0, size.models), spread: false, predictions: predictions - 2 * coldEach },
    ...cold.map((number) => ({
      organisations: [organisations[number] as FleetOrganisation],
      spread: true,
      predictions: coldEach,
    })),
  ];
  const stored = await storedFields(bundlePath, endMs);
  for (const group of groups) await writePredictions(database, { ...group, ...stored, endMs }, say);
  await stamps.insertOne({ _id: stampId, generator: generatorVersion, size: text, endMs });
  return { name, database, organisations };
}

async function removeCallsSince(
  database: Db,
  sinceMs: number,
  organisations: readonly FleetOrganisation[],
): Promise<void> {
  const calls = database.collection<{ _id: string }>(callsCollection);
  for (const { organisationId, modelIds } of organisations) {
    if (modelIds.length === 0) continue;
    const range = { $gte: callIdFloor(sinceMs, organisationId), $lt: callIdFloor(sinceMs + longestMs, organisationId) };
    await calls.deleteMany({ _id: range });
  }
}

async function copyAccounts({ database }: FleetData, name: string): Promise<void> {
  for (const collection of accountCollections)
    await database
      .collection(collection)
      .aggregate([{ $out: { db: name, coll: collection } }])
      .toArray();
}

const organisationsOf = (database: Db): Promise<FleetOrganisation[]> =>
  database.collection<FleetOrganisation>('bench_fleet').find().sort({ _id: 1 }).toArray();
