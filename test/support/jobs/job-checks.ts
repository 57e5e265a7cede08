import { expect } from 'chai';
import { JobUploadStore } from '../../../shared/store/jobs/job-uploads.js';
import { eventually } from '../eventually.js';
import type { BulkJob } from './bulk-job.js';

/** A file of made-up leads. A few of its rows cannot be scored, and a few are empty. */
export interface JobFile {
  readonly text: string;
  readonly rows: number;
  readonly failed: number;
  readonly empty: number;
}

const isFailing = (row: number): boolean => row % 97 === 50;
const isEmpty = (row: number): boolean => row % 101 === 40 && !isFailing(row);

/** @param tag begins the crm_id of each lead, so that the leads of two files differ */
export function jobFile(rows: number, tag = 'L'): JobFile {
  const all = Array.from({ length: rows }, (_, index) => index + 1);
  const lineOf = (row: number): string => {
    if (isEmpty(row)) return '';
    return `${tag}-${row},${(row * 379) % 500}${isFailing(row) ? ',one cell too many' : ''}`;
  };
  return {
    text: `crm_id,company_size\n${all.map((row) => `${lineOf(row)}\n`).join('')}`,
    rows,
    failed: all.filter(isFailing).length,
    empty: all.filter(isEmpty).length,
  };
}

/** The cells of a line of results of a `jobFile` that tell the fate of its row. */
const fateOf = (line: string): string => {
  const cells = line.split(',');
  const isScored = /^\d+$/.test(cells[2] ?? '');
  return `${cells[0]}${isScored ? ' scored' : ''}`;
};

/**
 * Asserts that a job is complete and exact:
 * - each row of its file is in the results once, in order, and the sums count them, also those of its input;
 * - the ledger has one row for each slice with a call, and no other row of the job; they count the scored rows;
 * - Redis counts what the ledger counts, and each counted record has its prediction;
 * - neither input nor upload is left.
 * @param within ms until Redis equals the ledger
 */
export async function expectJobExact(job: BulkJob, file: JobFile, within: number): Promise<void> {
  const { owner } = job;
  const { state, settled, input } = await job.read();
  const scored = file.rows - file.failed - file.empty;
  expect({ state, ...settled }).to.include({
    state: 'completed',
    ...{ rows: file.rows, scored, failed: file.failed, empty: file.empty },
  });
  expect(input?.records, 'rows in the sums of the input').to.equal(scored);
  const text = await job.text();
  expect(Buffer.byteLength(text), 'bytes of the results').to.equal(settled.result_bytes);
  const expected = file.text.split('\n').slice(1, -1).map(expectedFate);
  expect(text.split('\n').slice(0, -1).map(fateOf)).to.deep.equal(expected);
  const slices = await job.allSlices();
  expect(slices.map((slice) => slice.state)).to.deep.equal(slices.map(() => 'settled'));
  const calls = slices.flatMap(({ outcome }) => outcome?.call_id ?? []);
  await eventually(async () => {
    const rows = (await owner.ledgerRows()).filter(({ request_id: id }) => id === job.id);
    expect(rows.map(({ _id }) => _id)).to.have.members(calls);
    expect(rows.reduce((sum, { records }) => sum + records, 0)).to.equal(scored);
  }, within);
  expect(await owner.predictions(), 'predictions').to.have.length(scored);
  const blobs = owner.service.stores.database.collection<{ _id: string }>('job_blobs');
  expect(await blobs.countDocuments({ _id: { $regex: `^${job.id}\\..*input$` } }), 'inputs left').to.equal(0);
  const uploads = new JobUploadStore(owner.service.stores.database);
  expect((await uploads.end(job.id)).offset, 'bytes of the upload left').to.equal(0);
}

const expectedFate = (line: string): string => {
  const [crmId = '', , tooMany] = line.split(',');
  return `${crmId}${crmId === '' || tooMany !== undefined ? '' : ' scored'}`;
};

/** Asserts that Redis counts what the ledger counts, in this month, and holds nothing. */
export async function expectRedisExact({ owner }: BulkJob, within: number): Promise<void> {
  await eventually(async () => {
    const used = await owner.ledgerSum();
    // A counter that an emptied Redis lost is rebuilt at its next use.
    expect((await owner.call('/v1/usage')).status).to.equal(200);
    expect(await owner.redisUsage(), 'usage in Redis against the ledger').to.deep.equal({ used, leased: 0 });
  }, within);
}
