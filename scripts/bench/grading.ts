import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '../../shared/identifiers.js';
import { callsCollection } from '../../shared/store/calls-collection.js';
import { connectMongo, type Db } from '../../shared/store/connect.js';
import { prepareDatabase } from '../../shared/store/prepare.js';
import { dayMs, dayNumber, dayStartMs } from '../../shared/utc-day.js';
import { gradeVersion } from '../../worker/grading/grade-version.js';
import { startMongo } from '../local-servers/mongo-server.js';
import { type OnEnd, stoppedAtEnd } from '../stack/run-to-end.js';
import { convertEarlierLeads, type GradingLoad, letDayPass, writeGradingLoad } from './grading-data.js';
import { readUsage } from './process-usage.js';

/** One grade that was timed. */
export interface GradingRow {
  readonly name: string;
  /** Predictions of the model in the database. */
  readonly predictions: number;
  /** Days that were computed as a whole, and others within which single leads were moved. */
  readonly days: number;
  readonly adjustedDays: number;
  readonly seconds: number;
  readonly cpuSeconds: { readonly grader: number; readonly mongod: number };
  readonly summary: string;
}

export interface GradingBenchOptions {
  /** Predictions in the year that is graded first. */
  readonly predictions: number;
  /** WiredTiger's cache, GB. */
  readonly cacheSizeGB: number;
  /** Told what is being done, a line at a time. */
  readonly say: (line: string) => void;
}

/** A database with predictions of one model. */
interface GradingDesk {
  readonly database: Db;
  readonly mongodPid: number;
  readonly ids: Pick<GradingLoad, 'organisationId' | 'modelId' | 'version'>;
}

const days = 365;
const horizonDays = 90;
/** Of the leads of the last horizon, those that convert on one day; as many as a day brings leads, by 5 %. */
const convertingShare = 0.05;

/**
 * Times grading on a MongoDB of its own: a first grade of a year's predictions; a grade with nothing new; and a grade
 * after one more day: new leads that are named, leads scored before, and leads of the last 90 days that have converted.
 * @param onEnd takes what must be undone, in reverse, when the benchmark ends
 */
export async function measureGrading(options: GradingBenchOptions, onEnd: OnEnd): Promise<GradingRow[]> {
  const directory = await mkdtemp(join(tmpdir(), 'leadscore-grading-'));
  onEnd(() => rm(directory, { recursive: true, force: true }));
  const { cacheSizeGB } = options;
  const server = await stoppedAtEnd(onEnd, startMongo({ directory, cacheSizeGB }));
  const mongo = await connectMongo(server.url, { name: 'grading-bench' });
  onEnd(() => mongo.client.close());
  await prepareDatabase(mongo.database);
  const ids = { organisationId: newId('org'), modelId: newId('mdl'), version: '1' };
  return gradesOf({ database: mongo.database, mongodPid: server.pid, ids }, options);
}

async function gradesOf(desk: GradingDesk, { predictions, say }: GradingBenchOptions): Promise<GradingRow[]> {
  const { database, ids } = desk;
  const endMs = dayStartMs(dayNumber(Date.now()));
  const predictionsADay = Math.round(predictions / days);
  say(`writing ${predictionsADay * days} predictions of ${days} days and what became of their leads`);
  const year = { database, ...ids, fromMs: endMs - days * dayMs, days, predictionsADay, firstLead: 0 };
  const leads = await writeGradingLoad({ ...year, outcomesChangedAt: new Date(year.fromMs) });
  const rows: GradingRow[] = [];
  const grade = async (name: string, atMs: number): Promise<void> => {
    const row = await timedGrade(desk, name, atMs);
    rows.push(row);
    say(
      `${name}: ${row.seconds.toFixed(2)} s, ${row.days} days computed, ${row.adjustedDays} adjusted; ${row.summary}`,
    );
  };
  await grade('first grade of a year', endMs);
  await grade('nothing new', endMs);
  await letDayPass(year);
  await writeGradingLoad({
    ...year,
    fromMs: endMs,
    days: 1,
    firstLead: leads,
    outcomesChangedAt: new Date(),
  });
  const ofLastHorizon = Math.round((leads * horizonDays) / days);
  await convertEarlierLeads(year, {
    between: [leads - ofLastHorizon, leads],
    count: Math.round(predictionsADay * convertingShare),
    atMs: endMs + dayMs / 2,
  });
  await grade('one more day', endMs + dayMs);
  return rows;
}

async function timedGrade(
  { database, mongodPid, ids }: GradingDesk,
  name: string,
  atMs: number,
): Promise<GradingRow> {
  const usage = () => ({ own: process.cpuUsage(), mongod: readUsage({ mongod: [mongodPid] }).mongod.cpuMs });
  const before = usage();
  const startMs = performance.now();
  const { verdict, refreshed } = await gradeVersion({
    database,
    ...ids,
    facts: { horizon_days: horizonDays },
    asOfMs: atMs,
    nowMs: atMs,
  });
  const seconds = (performance.now() - startMs) / 1000;
  const after = usage();
  const own = process.cpuUsage(before.own);
  return {
    name,
    predictions: await storedPredictions(database),
    days: refreshed.days,
    adjustedDays: refreshed.adjusted,
    seconds,
    cpuSeconds: { grader: (own.user + own.system) / 1e6, mongod: (after.mongod - before.mongod) / 1000 },
    summary: verdict.summary,
  };
}

async function storedPredictions(database: Db): Promise<number> {
  const [sum] = await database
    .collection(callsCollection)
    .aggregate<{ readonly records: number }>([
      { $group: { _id: null, records: { $sum: { $size: { $ifNull: ['$scores', []] } } } } },
    ])
    .toArray();
  return sum?.records ?? 0;
}
