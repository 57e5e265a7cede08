import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '../../shared/identifiers.js';
import { connectMongo } from '../../shared/store/connect.js';
import { prepareDatabase } from '../../shared/store/prepare.js';
import { dayMs, dayNumber, dayStartMs } from '../../shared/utc-day.js';
import { gradeVersion } from '../../worker/grading/grade-version.js';
import { startMongo } from '../local-servers/mongo-server.js';
import { writeGradingLoad } from './grading-data.js';

/** One grade that was timed. */
export interface GradingRow {
  readonly name: string;
  /** Predictions of the model in the database. */
  readonly predictions: number;
  /** Days that were computed. */
  readonly days: number;
  readonly seconds: number;
  readonly state: string;
}

export interface GradingBenchOptions {
  /** Predictions in the year that is graded first. */
  readonly predictions: number;
  /** WiredTiger's cache, GB. */
  readonly cacheSizeGB: number;
  readonly say: (line: string) => void;
}

const days = 365;

/**
 * Times grading on a MongoDB of its own: a first grade of a year's predictions, a grade with nothing new, and a grade
 * after one more day of predictions and of changed outcomes.
 */
export async function measureGrading({
  predictions,
  cacheSizeGB,
  say,
}: GradingBenchOptions): Promise<GradingRow[]> {
  const directory = await mkdtemp(join(tmpdir(), 'leadscore-grading-'));
  const server = await startMongo({ directory, cacheSizeGB });
  const mongo = await connectMongo(server.url, { name: 'grading-bench' });
  try {
    const { database } = mongo;
    await prepareDatabase(database);
    const ids = { organisationId: newId('org'), modelId: newId('mdl'), version: '1' };
    const endMs = dayStartMs(dayNumber(Date.now()));
    const predictionsADay = Math.round(predictions / days);
    say(`writing ${predictionsADay * days} predictions over ${days} days`);
    const year = { database, ...ids, fromMs: endMs - days * dayMs, days, predictionsADay, firstLead: 0 };
    const leads = await writeGradingLoad(year);
    const rows: GradingRow[] = [];
    const grade = async (name: string, atMs: number): Promise<void> => {
      const startMs = performance.now();
      const { verdict, refreshed } = await gradeVersion({
        database,
        ...ids,
        facts: { horizon_days: 90 },
        asOfMs: atMs,
        nowMs: atMs,
      });
      const seconds = (performance.now() - startMs) / 1000;
      const stored = await database.collection('predictions').estimatedDocumentCount();
      rows.push({ name, predictions: stored, days: refreshed.days, seconds, state: verdict.summary });
      say(`${name}: ${seconds.toFixed(2)} s, ${refreshed.days} days computed; ${verdict.summary}`);
    };
    await grade('first grade of a year', endMs);
    await forgetThatOutcomesAreNew(database, ids.organisationId);
    await grade('nothing new', endMs);
    await writeGradingLoad({ ...year, fromMs: endMs, days: 1, firstLead: leads });
    await grade('one more day', endMs + dayMs);
    return rows;
  } finally {
    await mongo.client.close();
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

/** The year's outcomes were written a moment ago; in a year's life they would have come day by day. */
async function forgetThatOutcomesAreNew(
  database: Parameters<typeof prepareDatabase>[0],
  org: string,
): Promise<void> {
  await database.collection('outcomes').updateMany({ org }, { $set: { changed_at: new Date(0) } });
}
