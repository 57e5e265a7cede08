import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { refused } from '../../../support/http/score-reply.js';
import { type RunningService, runningService, startTimeoutMs } from '../../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../../support/service/workspace.js';
import { itInFull } from '../../../support/tier.js';
import { changeJob, download, newJob, type SliceTexts, settleSlices } from '../job-calls.js';

const header = 'Lead ID,score\n';
const errorHeader = 'row,line,crm_id,field,message,surplus\n';

/** Slices of different lengths; every third one has errors, and one of them is large. */
const texts = (from: number, count: number): SliceTexts[] =>
  Array.from({ length: count }, (_, index) => ({
    results: `L-${from + index},${randomInt(101)}\n`.repeat(index === 7 ? 30_000 : randomInt(1, 200)),
    errors: (from + index) % 3 === 0 ? `${from + index},9,,no value é\n`.repeat(randomInt(1, 50)) : '',
  }));

const wholeOf = (slices: readonly SliceTexts[]): Buffer =>
  Buffer.from(header + slices.map(({ results }) => results).join(''));

describe('GET /v1/jobs/{job_id}/results and /errors', () => {
  let service: RunningService;
  let own: TestWorkspace;
  let jobId: string;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
    own = await workspace(service);
  });
  beforeEach(async () => {
    jobId = (await newJob(own)).job_id;
  });

  it('return an empty file before the header is known, and the header before rows are settled', async () => {
    for (const path of ['results', 'errors', 'results?compression=gzip']) {
      const { status, bytes } = await download(own, `${jobId}/${path}`);
      expect(status).to.equal(200);
      expect(bytes).to.have.length(0);
    }
    await settleSlices(service, jobId, [], { header });
    expect((await download(own, `${jobId}/results`)).bytes.toString()).to.equal(header);
    expect((await download(own, `${jobId}/errors`)).bytes.toString()).to.equal(errorHeader);
    const gzip = await download(own, `${jobId}/results?compression=gzip`);
    expect(gunzipSync(gzip.bytes).toString()).to.equal(header);
  });

  it('return all rows, as text and as gzip members', async () => {
    const slices = texts(0, 20);
    await settleSlices(service, jobId, slices, { header });
    const results = await download(own, `${jobId}/results`);
    expect(results.headers.get('content-type')).to.equal('text/csv; charset=utf-8');
    expect(results.headers.get('accept-ranges')).to.equal('bytes');
    expect(results.headers.get('etag')).to.equal(null);
    expect(results.bytes.equals(wholeOf(slices))).to.equal(true);
    const errors = await download(own, `${jobId}/errors`);
    const wholeErrors = errorHeader + slices.map((slice) => slice.errors).join('');
    expect(errors.bytes.toString()).to.equal(wholeErrors);
    const gzip = await download(own, `${jobId}/results?compression=gzip`);
    expect(gzip.headers.get('content-type')).to.equal('application/gzip');
    expect(gzip.headers.get('content-encoding')).to.equal(null);
    expect(gunzipSync(gzip.bytes).equals(wholeOf(slices))).to.equal(true);
    const gzipErrors = await download(own, `${jobId}/errors?compression=gzip`);
    expect(gunzipSync(gzipErrors.bytes).toString()).to.equal(wholeErrors);
  });

  it('return the bytes of each of 40 random ranges', () => expectRandomRanges(2));

  itInFull('return the bytes of each of 1,000 random ranges', async function () {
    this.timeout(120_000);
    await expectRandomRanges(50);
  });

  /** Five ranges at once, in some rounds of each of four files. */
  async function expectRandomRanges(rounds: number): Promise<void> {
    await settleSlices(service, jobId, texts(0, 20), { header });
    for (const path of ['results', 'errors', 'results?compression=gzip', 'errors?compression=gzip']) {
      const { bytes: whole } = await download(own, `${jobId}/${path}`);
      for (let round = 0; round < rounds; round += 1)
        await Promise.all(Array.from({ length: 5 }, () => expectRandomRange(path, whole)));
    }
  }

  async function expectRandomRange(path: string, whole: Buffer): Promise<void> {
    const start = randomInt(whole.length);
    const end = randomInt(2) === 0 ? randomInt(start, whole.length) : Math.min(start + randomInt(3), whole.length - 1);
    const [range, expected] = [
      [`bytes=${start}-${end}`, whole.subarray(start, end + 1)] as const,
      [`bytes=${start}-`, whole.subarray(start)] as const,
      [`bytes=-${start + 1}`, whole.subarray(whole.length - start - 1)] as const,
      [`bytes=${start}-${whole.length + 5}`, whole.subarray(start)] as const,
    ][randomInt(4)] ?? ['', whole];
    const { status, headers, bytes } = await download(own, `${jobId}/${path}`, { range });
    expect(status, range).to.equal(206);
    expect(bytes.equals(expected), `${path} ${range}`).to.equal(true);
    const first = whole.length - expected.length;
    expect(headers.get('content-range')).to.match(new RegExp(`^bytes \\d+-\\d+/${whole.length}$`));
    if (range.startsWith('bytes=-')) expect(headers.get('content-range')).to.include(`bytes ${first}-`);
  }

  it('ignore ranges that they cannot serve, and refuse those behind the end with 416', async () => {
    await settleSlices(service, jobId, texts(0, 3), { header });
    const { bytes: whole } = await download(own, `${jobId}/results`);
    for (const range of ['bytes=0-1,4-5', 'rows=0-1', 'bytes=5-2', 'bytes=-', 'bytes=a-b', 'nothing']) {
      const { status, bytes } = await download(own, `${jobId}/results`, { range });
      expect(status, range).to.equal(200);
      expect(bytes.equals(whole)).to.equal(true);
    }
    for (const range of [`bytes=${whole.length}-`, `bytes=${'9'.repeat(50)}-`, 'bytes=-0']) {
      const { status, headers, bytes } = await download(own, `${jobId}/results`, { range });
      refused({ status, headers, text: bytes.toString() }, '416 range_not_satisfiable');
      expect(headers.get('content-range')).to.equal(`bytes */${whole.length}`);
    }
  });

  it('have a constant ETag once the job has ended, and ignore a Range with another If-Range', async () => {
    await settleSlices(service, jobId, texts(0, 3), { header });
    const range = 'bytes=3-5';
    const whileRunning = await download(own, `${jobId}/results`, { range, 'if-range': `"${jobId}.0"` });
    expect(whileRunning.status).to.equal(200);
    await changeJob(service, jobId, { state: 'completed' });
    const { headers } = await download(own, `${jobId}/results`);
    expect(headers.get('etag')).to.equal(`"${jobId}.0"`);
    const same = await download(own, `${jobId}/results`, { range, 'if-range': `"${jobId}.0"` });
    expect(same.status).to.equal(206);
    await changeJob(service, jobId, { revision: 1 });
    const erased = await download(own, `${jobId}/results`, { range, 'if-range': `"${jobId}.0"` });
    expect(erased.status).to.equal(200);
    expect(erased.headers.get('etag')).to.equal(`"${jobId}.1"`);
  });

  it('return to HEAD the headers of GET without a body', async () => {
    await settleSlices(service, jobId, texts(0, 3), { header });
    const { bytes } = await download(own, `${jobId}/results`);
    const response = await fetch(`${service.url()}/v1/jobs/${jobId}/results`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${own.live.secret}` },
    });
    expect(response.status).to.equal(200);
    expect(response.headers.get('content-length')).to.equal(String(bytes.length));
  });

  it('grow while the job runs, so that curl -C - goes on where it stopped', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'leadscore-results-'));
    const file = join(directory, 'out.csv');
    const curl = (): Promise<unknown> =>
      promisify(execFile)('curl', [
        ...['-sS', '-f', '-C', '-', '-o', file, '-H', `Authorization: Bearer ${own.live.secret}`],
        `${service.url()}/v1/jobs/${jobId}/results`,
      ]);
    try {
      const first = texts(0, 9);
      const before = await settleSlices(service, jobId, first, { header });
      await curl();
      expect((await readFile(file)).equals(wholeOf(first))).to.equal(true);
      const more = texts(9, 9);
      await settleSlices(service, jobId, more, { before, header });
      await curl();
      expect((await readFile(file)).equals(wholeOf([...first, ...more]))).to.equal(true);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});
