import { writeFile } from 'node:fs/promises';
import { expect } from 'chai';
import { runCliProcess } from '../cli-call.js';
import { JobDesk } from './job-desk.js';

const results = Buffer.from(Array.from({ length: 5_000 }, (_, index) => `row ${index},é\n`).join(''));

describe('leadscore job results', () => {
  let desk: JobDesk;

  beforeEach(async () => {
    desk = await JobDesk.open();
    desk.service.add('completed', { results, errors: Buffer.from('row,error\n7,bad\n') });
  });

  afterEach(() => desk.leave());

  const ranges = () => desk.service.requests.map(({ headers }) => headers.range).filter((range) => range !== undefined);

  it('writes the results or the errors to standard output, and nothing else', async () => {
    const all = await runCliProcess(desk.words('results', 'job_1'));
    expect(all).to.deep.equal({ exitCode: 0, stdout: results.toString(), stderr: '' });
    const { stdout } = await desk.run('results', 'job_1', '--errors');
    expect(stdout).to.equal('row,error\n7,bad\n');
  });

  it('completes an output after lost connections, on a file and on standard output', async () => {
    desk.service.downloadBreaks.push(10_000, 20_000, 20_001);
    const { exitCode, stdout, stderr } = await desk.run('results', 'job_1', '--out', desk.file('out.csv'));
    expect(exitCode, stderr).to.equal(0);
    expect(await desk.read('out.csv')).to.equal(results.toString());
    expect(stdout).to.include('KiB of results');
    desk.service.downloadBreaks.push(0, 30_000);
    expect((await runCliProcess(desk.words('results', 'job_1'))).stdout).to.equal(results.toString());
    expect(desk.service.downloadBreaks).to.deep.equal([]);
  });

  it('completes a partial file, with a comparison of its last bytes', async () => {
    await writeFile(desk.file('out.csv'), results.subarray(0, 30_001));
    expect((await desk.run('results', 'job_1', '--out', desk.file('out.csv'))).exitCode).to.equal(0);
    expect(await desk.read('out.csv')).to.equal(results.toString());
    expect(ranges()).to.deep.equal([`bytes=${30_001 - 4_096}-`]);
  });

  it('leaves a complete file as it is', async () => {
    await writeFile(desk.file('out.csv'), results);
    expect((await desk.run('results', 'job_1', '--out', desk.file('out.csv'))).exitCode).to.equal(0);
    expect(await desk.read('out.csv')).to.equal(results.toString());
  });

  it('completes a partial file when the service ignores ranges', async () => {
    desk.service.hasRanges = false;
    await writeFile(desk.file('out.csv'), results.subarray(0, 30_001));
    expect((await desk.run('results', 'job_1', '--out', desk.file('out.csv'))).exitCode).to.equal(0);
    expect(await desk.read('out.csv')).to.equal(results.toString());
  });

  it('refuses a file with other bytes or with more bytes than the results, and leaves it', async () => {
    for (const text of ['something else', 'x'.repeat(500), `${results}more`, `${results}${results}`]) {
      await writeFile(desk.file('out.csv'), text);
      const { exitCode, stderr } = await desk.run('results', 'job_1', '--out', desk.file('out.csv'));
      expect(exitCode).to.equal(1);
      expect(stderr).to.include('out.csv exists and is not the beginning of the results of job_1');
      expect(await desk.read('out.csv')).to.equal(text);
    }
  });

  it('begins again when an erasure changes the results during the download', async () => {
    const erased = Buffer.concat([results.subarray(0, 100), results.subarray(110)]);
    desk.service.downloadBreaks.push(20_000);
    let reads = 0;
    desk.service.answering = ({ path }) => {
      reads += path.endsWith('results') ? 1 : 0;
      if (reads === 2) desk.service.job.results = erased;
      return undefined;
    };
    expect((await desk.run('results', 'job_1', '--out', desk.file('out.csv'))).exitCode).to.equal(0);
    expect(await desk.read('out.csv')).to.equal(erased.toString());
  });

  it('asks for gzip when the file ends in .gz', async () => {
    const { exitCode } = await desk.run('results', 'job_1', '--out', desk.file('out.csv.gz'));
    expect(exitCode).to.equal(0);
    expect(desk.service.calls).to.include('GET /job_1/results?compression=gzip');
  });

  it('says that a running job will have more results', async () => {
    desk.service.job.state = 'running';
    const { exitCode, stdout, stderr } = await runCliProcess(desk.words('results', 'job_1'));
    expect(exitCode).to.equal(0);
    expect(stdout).to.equal(results.toString());
    expect(stderr).to.include('The job is running, so there will be more.');
  });

  it('exits with 1 when there are no results yet, and leaves no file', async () => {
    desk.service.job.state = 'reading';
    desk.service.answering = ({ path }) =>
      path.endsWith('/results') ? { status: 409, code: 'job_state_conflict' } : undefined;
    const { exitCode, stdout } = await desk.run('results', 'job_1', '--out', desk.file('out.csv'));
    expect(exitCode).to.equal(1);
    expect(stdout).to.include('job_1 has no results: it is reading.');
    desk.service.answering = () => undefined;
    desk.service.job.results = Buffer.alloc(0);
    expect((await desk.run('results', 'job_1', '--out', desk.file('out.csv'))).exitCode).to.equal(1);
    expect(await desk.files()).to.deep.equal([]);
  });

  it('exits with 0 when a completed job has no errors', async () => {
    desk.service.job.errors = Buffer.alloc(0);
    const { exitCode, stdout } = await desk.run('results', 'job_1', '--errors', '--out', desk.file('errors.csv'));
    expect(exitCode).to.equal(0);
    expect(stdout).to.include('job_1 has no errors: it is completed.');
    expect(await desk.files()).to.deep.equal([]);
  });

  it('--json prints the file and the state as one document', async () => {
    const out = desk.file('out.csv');
    const { stdout, stderr } = await desk.run('results', 'job_1', '--out', out, '--json');
    expect(stderr).to.equal('');
    expect(JSON.parse(stdout)).to.deep.equal({
      job_id: 'job_1',
      state: 'completed',
      path: out,
      bytes: results.length,
    });
    expect((await desk.run('results', 'job_1', '--json')).exitCode).to.equal(2);
  });

  it('names an output that cannot be written, before it downloads', async () => {
    const { exitCode, stderr } = await desk.run('results', 'job_1', '--out', desk.file('missing/out.csv'));
    expect(exitCode).to.equal(1);
    expect(stderr).to.include('no such folder');
    expect(desk.service.calls).to.deep.equal(['GET /job_1']);
  });
});
