import { Redis } from 'ioredis';
import { connectMongo, type Db } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { startMongo } from '../../servers/mongo-server.js';
import { startRedis } from '../../servers/redis/redis-server.js';
import { stoppedAtEnd, temporaryDirectory } from '../../servers/run-to-end.js';
import {
  type Columns,
  type ReportSection,
  reachedText,
  reportTable,
  type SectionOptions,
  short,
  wholeNumber,
} from '../report/tables.js';
import { type AskedRead, askConsole } from './ask-console.js';
import { writeHistory } from './console-history.js';
import { type ConsoleOrganisation, writeOrganisation } from './console-organisation.js';
import { days, leads, writeYear } from './console-predictions.js';

/** The reads of the console on a MongoDB of its own, without a service. */
export const consoleRowName = 'console';

const usualPredictions = 10_000_000;
const quickPredictions = 200_000;
const cacheSizeGB = 2;
/** For one read, which may ask several queries. */
const goalMs = 50;

const columns: Columns<AskedRead> = [
  ['Read', ({ name }) => name],
  ['queries', ({ queries }) => String(queries)],
  ['keys', ({ keys }) => wholeNumber(keys)],
  ['documents', ({ documents }) => wholeNumber(documents)],
  ['first ms', (row) => short(row.first_ms)],
  ['best', (row) => short(row.best_ms)],
  ['median', ({ ms }) => short(ms)],
  ['CPU console', (row) => short(row.cpu_ms.console)],
  ['mongod', (row) => short(row.cpu_ms.mongod)],
  ['goal', ({ ms }) => reachedText(ms <= goalMs)],
];

/** Times each read of the console's API for an organisation with a year of calls. */
export async function consoleSection({ say, onEnd, isQuick, bundlePath }: SectionOptions): Promise<ReportSection> {
  const directory = await temporaryDirectory(onEnd, 'console');
  const { url } = await stoppedAtEnd(onEnd, startRedis({ directory: `${directory}/redis` }));
  const redis = new Redis(url);
  onEnd(async () => redis.disconnect());
  const start = () => stoppedAtEnd(onEnd, startMongo({ directory: `${directory}/mongo`, cacheSizeGB }));
  const server = await start();
  const { client, database } = await connectMongo(server.url, { name: 'console-bench' });
  const predictions = isQuick ? quickPredictions : usualPredictions;
  say(`writing ${predictions} predictions of ${days} days`);
  const organisation = await writeConsoleData(database, redis, { predictions, bundlePath }, say);
  await client.close();
  // MongoDB's own cache is empty then. The files may be in memory.
  await server.stop();
  const rows = await askConsole({ ...(await start()), redis, organisation, say });
  const head = `The console's reads, with ${wholeNumber(predictions)} predictions (goal: at most ${goalMs} ms)`;
  return { document: { goal_ms: goalMs, predictions, rows }, text: `${head}\n${reportTable(columns, rows)}` };
}

/** Prepares a database and writes an organisation with its year of calls. */
async function writeConsoleData(
  database: Db,
  redis: Redis,
  { predictions, bundlePath }: { readonly predictions: number; readonly bundlePath: string },
  say: (line: string) => void,
): Promise<ConsoleOrganisation> {
  await prepareDatabase(database);
  const endMs = Date.now();
  const organisation = await writeOrganisation(database, redis, { bundlePath, endMs, days });
  await writeYear(database, organisation, { predictions, bundlePath, endMs }, say);
  await writeHistory(database, redis, organisation, { endMs, days, leads, predictions });
  return organisation;
}
