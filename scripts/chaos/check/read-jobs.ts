import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Db } from 'mongodb';
import { type JobSlice, numberOfSlice, sliceId } from '../../../shared/store/jobs/job-documents.js';
import { SliceStore } from '../../../shared/store/jobs/job-slices.js';
import { JobStore } from '../../../shared/store/jobs/jobs.js';
import type { SentJob } from '../load/chaos-jobs.js';
import type { JobEvent } from './history.js';

const inflate = promisify(gunzip);
const maxSlices = 10_000;

/** The states of jobs, and a comparison of their results with their files. */
export const readJobs = (database: Db, sent: readonly SentJob[]): Promise<JobEvent[]> =>
  Promise.all(sent.map((job) => readJob(database, job)));

async function readJob(database: Db, { jobId, organisation, rows, badRows }: SentJob): Promise<JobEvent> {
  const slices = new SliceStore(database);
  const job = await new JobStore(database).findById(jobId);
  const all = await slices.list(jobId, { from: 0, limit: maxSlices });
  const outcomes = all.flatMap(({ outcome }) => outcome ?? []);
  const shown = await shownLines(slices, jobId, job?.settled.slices ?? 0);
  const isRight = ({ row, score }: ResultLine, index: number): boolean =>
    row === index + 1 && (score === undefined) === badRows.has(row);
  const wrong = shown.findIndex((line, index) => !isRight(line, index));
  const reason = job?.pause?.reason;
  return {
    kind: 'job',
    jobId,
    organisation,
    state: job?.state ?? 'missing',
    ...(reason === undefined ? {} : { pauseReason: reason }),
    rows,
    shownRows: shown.length,
    ...(wrong < 0 ? {} : { wrongRow: wrong + 1 }),
    scored: outcomes.reduce((sum, outcome) => sum + outcome.scored, 0),
    shownScored: shown.filter(({ score }) => score !== undefined).length,
    wrongSlices: all.filter(isMisplaced).length,
  };
}

interface ResultLine {
  readonly row?: number;
  readonly score?: number;
}

async function shownLines(slices: SliceStore, jobId: string, count: number): Promise<ResultLine[]> {
  const lines: ResultLine[] = [];
  for (let number = 0; number < count; number += 1) {
    const rows = await slices.read(sliceId(jobId, number), 'results');
    const text = rows === undefined ? '' : String(await inflate(rows));
    for (const line of text.split('\n')) if (line !== '') lines.push(JSON.parse(line) as ResultLine);
  }
  return lines;
}

const isMisplaced = ({ _id }: JobSlice, index: number): boolean => numberOfSlice(_id) !== index;
