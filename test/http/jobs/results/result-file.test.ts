import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { ResultFile } from '../../../../api/routes/jobs/transfer/result-file.js';
import { type JobSlice, noTotals, sliceId } from '../../../../shared/store/jobs/job-documents.js';
import { sampleJob } from '../../../support/jobs/sample-job.js';

const settled = 10_000;
const line = 'row\n';
const job = sampleJob({
  ...{ _id: 'job_file', org: 'org_file' },
  settled: { ...noTotals, slices: settled, result_bytes: settled * line.length },
});

describe('the file of the results of ten thousand slices', () => {
  it('asks only for the slices of a range, and of those after it at most once', async () => {
    let queries = 0;
    const slices = {
      sliceAt: async (_id: string, { byte }: { readonly byte: number }) => Math.floor(byte / line.length),
      withBytes: async (
        id: string,
        _size: string,
        { from, limit }: { readonly from: number; readonly limit: number },
      ) => {
        queries += 1;
        return Array.from(
          { length: Math.min(limit, settled - from) },
          (_, index): JobSlice => ({
            ...{ _id: sliceId(id, from + index), rows: 1, first_row: from + index, first_line: from + index },
            state: 'settled',
            start: { ...noTotals, result_bytes: (from + index) * line.length },
            outcome: { ...noTotals, result_bytes: line.length, done_at: new Date(0) },
          }),
        );
      },
      read: async () => gzipSync(line),
    };
    const file = new ResultFile(job, { kind: 'results', isGzip: false }, slices);
    let text = '';
    for await (const piece of file.read({ start: 5, end: 14 })) text += String(piece);
    expect(text).to.equal('ow\nrow\nro');
    expect(queries).to.equal(1);
  });
});
