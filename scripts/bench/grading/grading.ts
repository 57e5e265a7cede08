import { dayMs, dayNumber, dayStartMs } from '../../../shared/contract/dates.js';
import { callsCollection } from '../../../shared/store/calls/prediction-segment.js';
import { connectMongo, type Db } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { gradeVersion } from '../../../worker/grading/job/grade-version.js';
import { startMongo } from '../../servers/mongo-server.js';
import { readUsage } from '../../servers/process-usage.js';
import { stoppedAtEnd, temporaryDirectory } from '../../servers/run-to-end.js';
import { type Columns, type ReportSection, reportTable, type SectionOptions, wholeNumber } from '../report/tables.js';
import { GradingData } from './grading-data.js';

/** Grading on a MongoDB of its own, without a service. */
export const gradingRowName = 'grading';

const yearPredictions = 1_000_000;
/** A quarter of the cache of the other rows. */
const cacheSizeGB = 1;
const days = 365;
const horizonDays = 90;
/** Leads of the last horizon that convert on one day, as a share of the new leads of that day. */
const convertingShare = 0.05;

/** One timed grade, under its names in `--json`. */
type GradingRow = Awaited<ReturnType<typeof timedGrade>>;

const columns: Columns<GradingRow> = [
  ['Grading', ({ name }) => name],
  ['predictions', ({ predictions }) => wholeNumber(predictions)],
  ['days computed', (row) => String(row.days)],
  ['adjusted', (row) => String(row.adjusted_days)],
  ['seconds', ({ seconds }) => seconds.toFixed(2)],
  ['CPU-s grader', (row) => row.cpu_s.grader.toFixed(2)],
  ['mongod', (row) => row.cpu_s.mongod.toFixed(2)],
];

/**
 * Times three grades of a year of 1,000,000 predictions:
 * - the first grade;
 * - a grade without new data;
 * - a grade after one more day of new leads, repeated leads, and conversions of the last 90 days.
 */
export async function gradingSection({ say, onEnd }: SectionOptions): Promise<ReportSection> {
  const directory = await temporaryDirectory(onEnd, 'grading');
  const server = await stoppedAtEnd(onEnd, startMongo({ directory, cacheSizeGB }));
  const { client, database } = await connectMongo(server.url, { name: 'grading-bench' });
  onEnd(() => client.close());
  await prepareDatabase(database);
  const endMs = dayStartMs(dayNumber(Date.now()));
  const firstDay = new Date(endMs - days * dayMs);
  const predictionsPerDay = Math.round(yearPredictions / days);
  say(`writing ${predictionsPerDay * days} predictions of ${days} days and the outcomes of their leads`);
  const data = new GradingData(database);
  for (let day = 0; day < days; day += 1)
    await data.writeDay(firstDay.getTime() + day * dayMs, predictionsPerDay, firstDay);
  const { leads } = data;
  const rows: GradingRow[] = [];
  const grade = async (name: string, atMs: number): Promise<void> => {
    const row = await timedGrade(data, { database, name, atMs, mongodPid: server.pid });
    say(`${name}: ${row.seconds} s, ${row.days} days computed, ${row.adjusted_days} adjusted`);
    rows.push(row);
  };
  await grade('first grade of a year', endMs);
  await grade('nothing new', endMs);
  await data.letDayPass();
  await data.writeDay(endMs, predictionsPerDay, new Date());
  const converted = Math.round(predictionsPerDay * convertingShare);
  const lastHorizon = [leads - Math.round((leads * horizonDays) / days), leads] as const;
  await data.convert(lastHorizon, converted, new Date(endMs + dayMs / 2));
  await grade('one more day', endMs + dayMs);
  return { document: rows, text: reportTable(columns, rows) };
}

/** CPU time of this process, exact to a microsecond, and of mongod, in steps of 10 ms. Both in ms since their start. */
export function cpuTimesBeside(mongodPid: number): { readonly own: number; readonly mongod: number } {
  const { user, system } = process.cpuUsage();
  return { own: (user + system) / 1_000, mongod: readUsage({ mongod: [mongodPid] }).mongod.cpuMs };
}

async function timedGrade(
  { ids }: GradingData,
  options: { readonly database: Db; readonly name: string; readonly atMs: number; readonly mongodPid: number },
) {
  const { database, name, atMs, mongodPid } = options;
  const read = () => ({ atMs: performance.now(), ...cpuTimesBeside(mongodPid) });
  const before = read();
  const facts = { horizon_days: horizonDays };
  const { refreshed } = await gradeVersion({ database, ...ids, asOfMs: atMs, nowMs: atMs, facts });
  const after = read();
  const seconds = (part: keyof typeof before): number => Number(((after[part] - before[part]) / 1000).toFixed(3));
  const records = { $sum: { $size: { $ifNull: ['$scores', []] } } };
  const stored = database.collection(callsCollection).aggregate([{ $group: { _id: null, records } }]);
  return {
    name,
    predictions: Number((await stored.next())?.records ?? 0),
    /** Computed as a whole. */
    days: refreshed.days,
    /** Further days with single changed leads. */
    adjusted_days: refreshed.adjusted,
    seconds: seconds('atMs'),
    cpu_s: { grader: seconds('own'), mongod: seconds('mongod') },
  };
}
