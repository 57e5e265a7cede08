import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dayMs, dayNumber, dayStartMs } from '../../../shared/contract/dates.js';
import { newId } from '../../../shared/contract/identifiers.js';
import { callsCollection } from '../../../shared/store/calls/prediction-slice.js';
import { connectMongo } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { gradeVersion } from '../../../worker/grading/job/grade-version.js';
import { startMongo } from '../../servers/mongo-server.js';
import { readUsage } from '../../servers/process-usage.js';
import { type OnEnd, stoppedAtEnd } from '../../servers/run-to-end.js';
import { type Columns, type ReportSection, reportTable, wholeNumber } from '../report/tables.js';
import { convertEarlierLeads, type GradingLoad, letDayPass, writeGradingLoad } from './grading-data.js';

/** Grading on a MongoDB of its own, without a service. */
export const gradingRowName = 'grading';

/** One timed grade. */
interface GradingRow {
  readonly name: string;
  /** Stored predictions of the model. */
  readonly predictions: number;
  /** Days computed as a whole. */
  readonly days: number;
  /** Further days with single changed leads. */
  readonly adjustedDays: number;
  readonly seconds: number;
  readonly cpuSeconds: { readonly grader: number; readonly mongod: number };
}

const yearPredictions = 1_000_000;
/** A quarter of the cache of the other rows. */
const cacheSizeGB = 1;
const days = 365;
const horizonDays = 90;
/** Leads of the last horizon that convert on one day, as a share of the new leads of that day. */
const convertingShare = 0.05;

const columns: Columns<GradingRow> = [
  ['Grading', ({ name }) => name],
  ['predictions', ({ predictions }) => wholeNumber(predictions)],
  ['days computed', (row) => String(row.days)],
  ['adjusted', ({ adjustedDays }) => String(adjustedDays)],
  ['seconds', ({ seconds }) => seconds.toFixed(2)],
  ['CPU-s grader', ({ cpuSeconds }) => cpuSeconds.grader.toFixed(2)],
  ['mongod', ({ cpuSeconds }) => cpuSeconds.mongod.toFixed(2)],
];

/**
 * Times three grades of a year of 1,000,000 predictions:
 * - the first grade;
 * - a grade without new data;
 * - a grade after one more day of new leads, repeated leads, and conversions of the last 90 days.
 */
export async function gradingSection({
  say,
  onEnd,
}: {
  readonly say: (line: string) => void;
  readonly onEnd: OnEnd;
}): Promise<ReportSection> {
  const directory = await mkdtemp(join(tmpdir(), 'leadscore-grading-'));
  onEnd(() => rm(directory, { recursive: true, force: true }));
  const server = await stoppedAtEnd(onEnd, startMongo({ directory, cacheSizeGB }));
  const { client, database } = await connectMongo(server.url, { name: 'grading-bench' });
  onEnd(() => client.close());
  await prepareDatabase(database);
  const endMs = dayStartMs(dayNumber(Date.now()));
  const predictionsPerDay = Math.round(yearPredictions / days);
  say(`writing ${predictionsPerDay * days} predictions of ${days} days and the outcomes of their leads`);
  const ids = { organisationId: newId('org'), modelId: newId('mdl'), version: '1' };
  const year = { database, ...ids, fromMs: endMs - days * dayMs, days, predictionsPerDay, firstLead: 0 };
  const leads = await writeGradingLoad({ ...year, outcomesChangedAt: new Date(year.fromMs) });
  const rows: GradingRow[] = [];
  const grade = async (name: string, atMs: number): Promise<void> => {
    rows.push(await timedGrade(year, { name, atMs, mongodPid: server.pid, say }));
  };
  await grade('first grade of a year', endMs);
  await grade('nothing new', endMs);
  await letDayPass(year);
  const oneMoreDay = { fromMs: endMs, days: 1, firstLead: leads, outcomesChangedAt: new Date() };
  await writeGradingLoad({ ...year, ...oneMoreDay });
  await convertEarlierLeads(year, {
    from: leads - Math.round((leads * horizonDays) / days),
    to: leads,
    count: Math.round(predictionsPerDay * convertingShare),
    atMs: endMs + dayMs / 2,
  });
  await grade('one more day', endMs + dayMs);
  return { document: rows.map(documentOf), text: reportTable(columns, rows) };
}

const documentOf = ({ name, predictions, days, adjustedDays, seconds, cpuSeconds }: GradingRow) => ({
  name,
  predictions,
  days,
  adjusted_days: adjustedDays,
  seconds: Number(seconds.toFixed(3)),
  cpu_s: { grader: Number(cpuSeconds.grader.toFixed(3)), mongod: Number(cpuSeconds.mongod.toFixed(3)) },
});

async function timedGrade(
  { database, organisationId, modelId, version }: GradingLoad,
  options: {
    readonly name: string;
    readonly atMs: number;
    readonly mongodPid: number;
    readonly say: (line: string) => void;
  },
): Promise<GradingRow> {
  const { name, atMs, mongodPid, say } = options;
  const mongodCpuMs = () => readUsage({ mongod: [mongodPid] }).mongod.cpuMs;
  const [cpuBefore, mongodBeforeMs] = [process.cpuUsage(), mongodCpuMs()];
  const startMs = performance.now();
  const { verdict, refreshed } = await gradeVersion({
    ...{ database, organisationId, modelId, version, asOfMs: atMs, nowMs: atMs },
    facts: { horizon_days: horizonDays },
  });
  const seconds = (performance.now() - startMs) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  const mongod = (mongodCpuMs() - mongodBeforeMs) / 1000;
  const { days, adjusted: adjustedDays } = refreshed;
  say(`${name}: ${seconds.toFixed(2)} s, ${days} days computed, ${adjustedDays} adjusted; ${verdict.summary}`);
  const [stored] = await database
    .collection(callsCollection)
    .aggregate<{ readonly records: number }>([
      { $group: { _id: null, records: { $sum: { $size: { $ifNull: ['$scores', []] } } } } },
    ])
    .toArray();
  const cpuSeconds = { grader: (user + system) / 1e6, mongod };
  return { name, predictions: stored?.records ?? 0, days, adjustedDays, seconds, cpuSeconds };
}
