import { createHash } from 'node:crypto';
import { appendFile, utimes, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { callCli } from '../cli-call.js';
import { JobDesk } from './job-desk.js';

const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('leadscore job create: the upload', () => {
  let desk: JobDesk;

  beforeEach(async () => {
    desk = await JobDesk.open();
  });

  afterEach(() => desk.leave());

  it('creates a job with the options and sends the file by PUT', async () => {
    const text = await desk.writeRows('leads.csv', 5_500);
    const { exitCode, stdout, stderr } = await desk.create(
      'leads.csv',
      ...['--crm-id', 'crm_id', '--explain', '--stop-at', 'backstop', '--max-errors', '7'],
      ...['--no-previous', '--no-input'],
    );
    expect({ exitCode, stderr }).to.deep.include({ exitCode: 0 });
    const { job, calls, requests } = desk.service;
    expect(job.body).to.deep.equal({
      model_id: 'mdl_a',
      input: { format: 'csv', name: 'leads.csv', sha256: sha256Of(text), crm_id_field: 'crm_id' },
      output: { include_input: false },
      explain: true,
      stop_at: 'backstop',
      max_errors: 7,
      previous: false,
    });
    expect(job.input.toString()).to.equal(text);
    expect(calls).to.deep.equal([
      `GET ?input_sha256=${sha256Of(text)}&limit=100`,
      'GET ?input_name=leads.csv&limit=100',
      ...['POST ', 'PUT /job_1/input', 'GET /job_1'],
    ]);
    expect(requests[3]?.headers).to.include({
      authorization: 'Bearer leadscore_sk_secret',
      'content-length': String(text.length),
    });
    expect(stdout)
      .to.match(/^Job +job_1\nState +reading\n/)
      .and.include('job show job_1 --key KEY');
    expect(stdout, 'the key').to.not.include('secret');
  });

  it('sends the default options', async () => {
    await writeFile(desk.file('leads.jsonl'), '{"crm_id":"1"}\n');
    expect((await desk.create('leads.jsonl')).exitCode).to.equal(0);
    expect(desk.service.job.body).to.deep.equal({
      model_id: 'mdl_a',
      input: { format: 'jsonl', name: 'leads.jsonl', sha256: sha256Of('{"crm_id":"1"}\n') },
      output: { include_input: true },
      explain: false,
      stop_at: 'limit',
      max_errors: 10_000,
      previous: true,
    });
  });

  it('sends a gzipped file as it is', async () => {
    const bytes = gzipSync('crm_id\n1\n');
    await writeFile(desk.file('leads.csv.gz'), bytes);
    expect((await desk.create('leads.csv.gz')).exitCode).to.equal(0);
    expect(desk.service.job.input.equals(bytes)).to.equal(true);
  });

  it('goes on by HEAD and PATCH when the connection breaks at five offsets', async () => {
    const text = await desk.writeRows('leads.csv', 20_300);
    // Within the first part, after a part, within one, before the last one, within it, and after the last byte.
    desk.service.uploadBreaks.push(10, 3_000, 9_500, 20_000, 20_290);
    desk.service.losesUploadReply = true;
    const { exitCode, stderr } = await desk.create('leads.csv');
    expect(exitCode, stderr).to.equal(0);
    const { job, calls, requests, uploadBreaks } = desk.service;
    expect(uploadBreaks).to.deep.equal([]);
    expect(job.input.toString()).to.equal(text);
    const patches = requests.filter(({ method }) => method === 'PATCH');
    expect(patches.map(({ headers }) => headers['upload-offset'])).to.include.members(['3000', '9000', '20000']);
    for (const { headers } of patches)
      expect(headers).to.include({
        'tus-resumable': '1.0.0',
        'upload-length': String(text.length),
        'content-type': 'application/offset+octet-stream',
      });
    expect(calls.filter((call) => call === 'HEAD /job_1/input')).to.have.length.of.at.least(5);
    expect(stderr).to.include('trying again after: no answer from');
  });

  it('goes on when the service refuses a silent connection and keeps its bytes', async () => {
    const text = await desk.writeRows('leads.csv', 5_000);
    desk.service.answersAtBreaks = true;
    desk.service.uploadBreaks.push(2_000, 4_000);
    const { exitCode, stderr } = await desk.create('leads.csv');
    expect(exitCode, stderr).to.equal(0);
    expect(desk.service.job.input.toString()).to.equal(text);
  });

  it('takes an upload whose reply is lost as complete', async () => {
    await desk.writeRows('leads.csv', 2_000);
    desk.service.losesUploadReply = true;
    expect((await desk.create('leads.csv')).exitCode).to.equal(0);
    expect(desk.service.calls.filter((call) => call.startsWith('P') && call.endsWith('input'))).to.deep.equal([
      'PUT /job_1/input',
    ]);
  });

  it('waits for the permit of an upload, and after errors of the service', async () => {
    const text = await desk.writeRows('leads.csv', 2_000);
    const answers = [
      { status: 429, code: 'job_limit_exceeded', headers: { 'retry-after': '0' } },
      { status: 503, code: 'internal_error' },
    ];
    desk.service.answering = ({ method }) => (method === 'PUT' ? answers.shift() : undefined);
    expect((await desk.create('leads.csv')).exitCode).to.equal(0);
    expect(desk.service.job.input.toString()).to.equal(text);
  });

  it('a refused upload ends the command with the code and the page of the error', async () => {
    await desk.writeRows('leads.csv', 2_000);
    desk.service.answering = ({ method }) =>
      method === 'PUT' ? { status: 400, code: 'bad_request', message: 'the file is too large' } : undefined;
    const { exitCode, stderr } = await desk.create('leads.csv', '--json');
    expect(exitCode).to.equal(1);
    expect(JSON.parse(stderr).error).to.deep.include({
      code: 'bad_request',
      status: 400,
      docs_url: 'https://docs.example/errors#bad_request',
    });
  });

  it('a refused creation ends the command without an upload', async () => {
    await desk.writeRows('leads.csv', 2_000);
    const refused = { status: 429, code: 'job_limit_exceeded', message: '20 jobs are unfinished' };
    desk.service.answering = ({ method }) => (method === 'POST' ? refused : undefined);
    const { exitCode, stderr } = await desk.create('leads.csv');
    expect(exitCode).to.equal(1);
    expect(stderr).to.equal(
      'Error: 20 jobs are unfinished (job_limit_exceeded, status 429)\nSee https://docs.example/errors#job_limit_exceeded\n',
    );
    expect(desk.service.jobs).to.deep.equal([]);
  });

  it('a command that is killed during the upload continues it when it is run again', async function () {
    this.timeout(60_000);
    const text = await desk.writeRows('leads.csv', 3_000_000);
    desk.service.partBytes = 1_000_000;
    let stop = () => {};
    const stalled = new Promise<void>((resolve) => {
      stop = resolve;
    });
    desk.service.uploadBreaks.push(2_500_000);
    desk.service.answering = ({ method }) => {
      if (method === 'HEAD') stop();
      return method === 'HEAD' ? 'hang up' : undefined;
    };
    const first = desk.startCreate('leads.csv');
    await stalled;
    first.process.kill('SIGKILL');
    await first.ended;
    desk.service.answering = () => undefined;
    const { exitCode, stderr } = await desk.create('leads.csv');
    expect(exitCode, stderr).to.equal(0);
    expect(desk.service.job.input.toString()).to.equal(text);
    const last = desk.service.requests.filter(({ method }) => method === 'PATCH').at(-1);
    expect(last?.headers).to.include({ 'upload-offset': '2000000' });
  });

  it('Ctrl-C during the upload exits with 130 and says how to continue', async () => {
    await desk.writeRows('leads.csv', 2_000);
    desk.service.answering = ({ method }) => (method === 'PUT' ? 'hang up' : undefined);
    const { process: child, ended } = desk.startCreate('leads.csv');
    await desk.service.arrival(/^HEAD/);
    child.kill('SIGINT');
    const { exitCode, stderr } = await ended;
    expect(exitCode).to.equal(130);
    expect(stderr).to.include('Stopped during the upload of job_1. Run the same command again to continue it.');
    expect(desk.service.calls.some((call) => call.includes('cancel'))).to.equal(false);
  });

  it('the same content finds its job; other content or another option makes another one', async () => {
    await desk.writeRows('leads.csv', 2_000);
    const { service } = desk;
    await desk.create('leads.csv');
    await utimes(desk.file('leads.csv'), new Date(1_000), new Date(1_000));
    await desk.create('leads.csv');
    expect(service.jobs).to.have.length(1);
    expect(service.calls.filter((call) => call.startsWith('PUT'))).to.have.length(1);
    await desk.create('leads.csv', '--explain');
    expect(service.jobs).to.have.length(2);
    await desk.create('leads.csv', '--stop-at', 'backstop', '--max-errors', '5');
    expect(service.jobs, 'where it pauses does not change results').to.have.length(2);
    await appendFile(desk.file('leads.csv'), '9999,crm-9999\n');
    await desk.create('leads.csv');
    expect(service.jobs).to.have.length(3);
  });

  it('a file that changes during the upload cancels its job', async () => {
    await desk.writeRows('leads.csv', 4_000);
    desk.service.uploadBreaks.push(2_000);
    desk.service.answering = ({ method }) => {
      if (method === 'HEAD') void appendFile(desk.file('leads.csv'), '9999,crm-9999\n');
      return method === 'HEAD' ? { status: 503, code: 'internal_error' } : undefined;
    };
    const { exitCode, stderr } = await desk.create('leads.csv');
    expect(exitCode).to.equal(1);
    expect(stderr).to.include('leads.csv changed while it was uploaded, so job_1 was canceled');
    expect(desk.service.job.state).to.equal('canceled');
  });

  it('refuses standard input, empty and missing files', async () => {
    await writeFile(desk.file('empty.csv'), '');
    await desk.writeRows('leads.csv', 100);
    const standardInput = await callCli(desk.words('create', '-', '--model', 'mdl_a'));
    expect(standardInput.exitCode).to.equal(2);
    expect(standardInput.stderr).to.include('could not be read again');
    expect((await desk.create('empty.csv')).stderr).to.include('empty.csv is empty');
    expect((await desk.create('missing.csv')).stderr).to.include('no such file');
    expect(desk.service.calls).to.deep.equal([]);
  });

  it('a service that never answers ends the command at once and names --url', async () => {
    await desk.writeRows('leads.csv', 100);
    desk.service.answering = () => 'hang up';
    const { exitCode, stderr } = await desk.create('leads.csv');
    expect(exitCode).to.equal(1);
    expect(stderr).to.match(/^Error: No answer from http:.*Check --url, and that the service is running\n$/);
    expect(desk.service.calls).to.have.length(1);
  });
});
