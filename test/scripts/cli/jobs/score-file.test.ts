import { writeFile } from 'node:fs/promises';
import { expect } from 'chai';
import { callCli } from '../cli-call.js';
import { JobDesk, resultsOf, settle } from './job-desk.js';

describe('leadscore score', () => {
  let desk: JobDesk;

  beforeEach(async () => {
    desk = await JobDesk.open();
  });

  afterEach(() => desk.leave());

  it('waits for the end, downloads the results and prints a summary', async () => {
    const text = await desk.writeRows('leads.csv', 2_000);
    desk.scoresInPolls(4);
    const { exitCode, stdout, stderr } = await desk.score('leads.csv', '--out', desk.file('scored.csv'));
    expect(exitCode, stderr).to.equal(0);
    expect(await desk.read('scored.csv')).to.equal(resultsOf(text));
    const rows = resultsOf(text).split('\n').length - 2;
    expect(stdout)
      .to.match(/State +completed/)
      .and.include(`${rows}: ${rows} scored\n`)
      .and.match(/Usage +500 of 10,000 this month, 9,500 left/)
      .and.include(`Results     ${desk.file('scored.csv')}`);
    expect(stdout, 'the results are here already').to.not.include('job results');
  });

  it('writes the rows that failed with the header of the file, and says so', async () => {
    await desk.writeRows('leads.csv', 2_000);
    await writeFile(desk.file('leads.csv'), `${'n;crm_id;"a;b"'}\r\n1;x;1\r\n"2\n";y;2\r\n3;z;3`);
    desk.scoresInPolls(2);
    const { polled } = desk.service;
    desk.service.polled = (job, poll) => {
      polled(job, poll);
      job.failed = 2;
      job.errors = Buffer.from('row;line;crm_id;field;message;surplus\n2;3;y;;"odd\nrow";\n3;5;z;;bad;\n');
    };
    const { exitCode, stdout, stderr } = await desk.score('leads.csv');
    expect(exitCode, stderr).to.equal(0);
    expect(await desk.read('leads.errors.csv')).to.equal('n;crm_id;"a;b"\n"2\n";y;2\r\n3;z;3\n');
    expect(stdout)
      .to.include('2 failed')
      .and.include('2 rows have no score, and are not counted.')
      .and.include(`Correct them in ${desk.file('leads.errors.csv')}, then score that file.`)
      .and.match(/^leads\.csv, line 3: odd\nrow\nleads\.csv, line 5: bad$/m);
    expect(await desk.files()).to.deep.equal(['leads.csv', 'leads.errors.csv', 'leads.scored.csv']);
  });

  it('leaves a file with other content at the place of the failed rows as it is', async () => {
    await desk.writeRows('leads.csv', 2_000);
    await writeFile(desk.file('leads.errors.csv'), 'mine\n');
    desk.scoresInPolls(2);
    const { polled } = desk.service;
    desk.service.polled = (job, poll) => {
      polled(job, poll);
      job.failed = 1;
      job.errors = Buffer.from('row,line,crm_id,field,message,surplus\n1,2,crm-1,,bad,\n');
    };
    const { stdout } = await desk.score('leads.csv');
    expect(stdout).to.include('leads.errors.csv exists, and is not from this job. Replace it with --force.');
    expect(await desk.read('leads.errors.csv')).to.equal('mine\n');
    await desk.score('leads.csv', '--force');
    expect(await desk.read('leads.errors.csv')).to.equal('n,crm_id\n1,crm-1\n');
  });

  it('ends with 1 after failed rows with --strict, which makes the job strict', async () => {
    await desk.writeRows('leads.csv', 2_000);
    desk.scoresInPolls(2);
    const { polled } = desk.service;
    desk.service.polled = (job, poll) => {
      polled(job, poll);
      job.failed = 1;
      job.errors = Buffer.from('row,line,crm_id,field,message,surplus\n1,2,crm-1,,bad,\n');
    };
    const { exitCode, stdout } = await desk.score('leads.csv', '--strict');
    expect(exitCode).to.equal(1);
    expect(stdout).to.include('1 row has no score, and is not counted.\nleads.csv, line 2: bad\nCorrect it in ');
    expect(desk.service.job.body).to.include({ strict: true });
  });

  it('shows at the end how the fields of the rows were read', async () => {
    await desk.writeRows('leads.csv', 2_000);
    desk.scoresInPolls(2);
    const { polled } = desk.service;
    const size = { field: 'Size', sent: 1_500, unread: 3, unseen: 0, reason: 'expected a number' };
    const date = {
      field: 'When',
      sent: 9,
      unread: 1,
      unseen: 0,
      ambiguous: 5,
      date_order: 'mdy',
      reason: 'expected a date',
    };
    const fields = [size, date, { field: 'Visits', sent: 0, unread: 0, unseen: 0 }];
    const ignored = [{ name: 'Visit', records: 2_000, did_you_mean: 'Visits' }];
    desk.service.polled = (job, poll) => {
      polled(job, poll);
      job.shown = { input_summary: { records: 2_000, fields, ignored } };
    };
    const { stdout } = await desk.score('leads.csv');
    expect(stdout)
      .to.match(/Values and names that the model does not know\nField +Sent +Unread +Unseen +Unread because\n/)
      .and.match(/\nSize +75 % +3 +expected a number\n/)
      .and.include('Visit: did you mean Visits?')
      .and.match(/When: the model reads .*: 1 of 9 unread, 5 ambiguous/);
  });

  it('says each notice of the file once while it waits, also a later one', async () => {
    await desk.writeRows('leads.csv', 2_000);
    desk.scoresInPolls(4);
    const { polled } = desk.service;
    desk.service.polled = (job, poll) => {
      polled(job, poll);
      const notices = ['The file has 9 rows, and this month has room for 5'];
      job.shown = { notices: poll < 3 ? notices : [...notices, 'No value of "a" in row 1 could be read'] };
    };
    const { stderr } = await desk.score('leads.csv');
    expect(stderr.split('Note: The file has 9 rows, and this month has room for 5.')).to.have.length(2);
    expect(stderr.split('Note: No value of "a" in row 1 could be read.')).to.have.length(2);
  });

  it('--json prints the job and its file as one document, and no progress', async () => {
    await desk.writeRows('leads.csv', 2_000);
    desk.scoresInPolls(3);
    const out = desk.file('scored.csv');
    const { exitCode, stdout, stderr } = await desk.score('leads.csv', '--out', out, '--json');
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' });
    const document = JSON.parse(stdout);
    expect(document).to.include({ job_id: 'job_1', state: 'completed' });
    expect(document.results_file).to.deep.equal({ path: out, bytes: (await desk.read('scored.csv')).length });
  });

  it('goes on after lost connections and errors of the service, with a note', async () => {
    await desk.writeRows('leads.csv', 2_000);
    desk.scoresInPolls(6);
    let reads = 0;
    desk.service.answering = ({ method }) => {
      if (method !== 'GET') return undefined;
      reads += 1;
      if (reads === 3) return 'hang up';
      return reads === 4 ? { status: 503, code: 'internal_error' } : undefined;
    };
    const { exitCode, stderr } = await desk.score('leads.csv');
    expect(exitCode, stderr).to.equal(0);
    expect(stderr)
      .to.include('trying again after: no answer from')
      .and.include('trying again after: internal_error (status 503)');
  });

  it('shows a pause with its reason and its end once, and then that the job goes on', async () => {
    await desk.writeRows('leads.csv', 2_000);
    desk.service.polled = (job, poll) => {
      if (job.state === 'awaiting_upload') return;
      settle(job, poll / 6);
      job.state = poll > 5 ? 'completed' : 'running';
      job.shown = {};
      if (poll < 1 || poll > 4) return;
      job.state = 'paused';
      settle(job, 1 / 6);
      const pause = { reason: 'quota_exceeded', message: 'The limit of the month is reached' };
      job.shown = { pause: { ...pause, resumes_at: '2026-12-01T00:00:00.000Z' } };
    };
    const { exitCode, stderr } = await desk.score('leads.csv');
    expect(exitCode).to.equal(0);
    const told =
      'The job is paused. The limit of the month is reached. It goes on at 2026-12-01 UTC, or when the operator raises the limit of the month. (quota_exceeded)\n';
    expect(stderr).to.include(told);
    expect(stderr.split(told), 'once').to.have.length(2);
    expect(stderr.split('  paused'), 'one line of progress').to.have.length(2);
    expect(stderr).to.match(/quota_exceeded\)\n[\s\S]*The job goes on\.\n/);
  });

  it('says of a pause without an end whether a person must resume the job', async () => {
    await desk.writeRows('leads.csv', 2_000);
    const pauses = [
      { reason: 'too_many_errors', message: '10,001 rows failed.' },
      { reason: 'api_disabled', message: 'Live API is off' },
    ];
    desk.service.polled = (job, poll) => {
      const pause = pauses[poll - 1];
      job.state = pause === undefined ? (poll < 1 ? 'running' : 'completed') : 'paused';
      job.shown = pause === undefined ? {} : { pause };
    };
    const { stderr } = await desk.score('leads.csv');
    expect(stderr)
      .to.include('10,001 rows failed. It goes on after `job resume`. (too_many_errors)')
      .and.include('Live API is off. It goes on by itself when the cause is gone. (api_disabled)');
  });

  it('a failed job exits with 1, and prints why the file cannot be read', async () => {
    await desk.writeRows('leads.csv', 2_000);
    desk.service.polled = (job) => {
      job.state = 'failed';
      job.shown = { error: { message: 'A quote is not closed', line: 17, column: 4 } };
    };
    const out = desk.file('scored.csv');
    const { exitCode, stdout } = await desk.score('leads.csv', '--out', out);
    expect(exitCode).to.equal(1);
    expect(stdout).to.include('A quote is not closed. (line 17, column 4)').and.include('Correct the file');
    desk.service.polled = (job) => {
      job.state = 'failed';
      job.shown = { error: { message: 'The file is not UTF-8 (line 1234, column 5). Save it', line: 1_234 } };
    };
    const again = await desk.score('leads.csv');
    expect(again.stdout).to.match(/Failure +The file is not UTF-8 \(line 1234, column 5\)\. Save it\.\n/);
    expect(await desk.files()).to.deep.equal(['leads.csv']);
  });

  it('a canceled job exits with 1, downloads the rows so far and names how to begin again', async () => {
    const text = await desk.writeRows('leads.csv', 2_000);
    desk.service.polled = (job) => {
      settle(job, 0.5);
      job.state = 'canceled';
    };
    const { exitCode, stdout } = await desk.score('leads.csv', '--out', desk.file('scored.csv'));
    expect(exitCode).to.equal(1);
    expect(stdout).to.include('add --again');
    const scored = await desk.read('scored.csv');
    expect(scored.length).to.be.above(100);
    expect(resultsOf(text).startsWith(scored)).to.equal(true);
  });

  it('Ctrl-C exits with 130, leaves the job running and says how to come back', async () => {
    await desk.writeRows('leads.csv', 2_000);
    desk.service.polled = (job) => {
      settle(job, 0.5);
      job.state = 'running';
    };
    const { process: child, ended } = desk.startScore('leads.csv', '--out', desk.file('scored.csv'));
    await desk.service.arrival(/results/);
    child.kill('SIGINT');
    const { exitCode, stderr } = await ended;
    expect(exitCode).to.equal(130);
    expect(stderr).to.include('Stopped waiting. job_1 goes on without this command.').and.include('job show job_1');
    expect(desk.service.calls.some((call) => call.includes('cancel'))).to.equal(false);
  });

  it('fetches grown results while the job runs, and a command that was killed completes them', async () => {
    const text = await desk.writeRows('leads.csv', 20_000);
    desk.service.polled = (job) => {
      settle(job, 0.5);
      job.state = 'running';
    };
    const out = desk.file('scored.csv');
    const first = desk.startScore('leads.csv', '--out', out);
    await desk.service.arrival(/^GET .*results/);
    first.process.kill('SIGKILL');
    await first.ended;
    // The kill may come before or after the first bytes are written: both are partial files.
    await writeFile(out, resultsOf(text).slice(0, 9_000));
    desk.scoresInPolls(3);
    const { exitCode, stderr } = await desk.score('leads.csv', '--out', out);
    expect(exitCode, stderr).to.equal(0);
    expect(await desk.read('scored.csv')).to.equal(resultsOf(text));
    expect(desk.service.jobs).to.have.length(1);
    const ranges = desk.service.requests.map(({ headers }) => headers.range).filter((range) => range !== undefined);
    expect(ranges).to.include(`bytes=${9_000 - 4_096}-`);
  });

  it('refuses before the upload an output that is not from this file, unless --force is there', async () => {
    const text = await desk.writeRows('leads.csv', 2_000);
    desk.scoresInPolls(2);
    await writeFile(desk.file('leads.scored.csv'), 'n,score\n');
    const { exitCode, stderr } = await desk.score('leads.csv');
    expect(exitCode).to.equal(1);
    expect(stderr).to.include('leads.scored.csv exists, and is not from this file. Replace it with --force');
    expect(desk.service.calls.filter((call) => call.startsWith('PUT'))).to.deep.equal([]);
    expect(await desk.read('leads.scored.csv')).to.equal('n,score\n');
    expect((await desk.score('leads.csv', '--force')).exitCode).to.equal(0);
    expect(await desk.read('leads.scored.csv')).to.equal(resultsOf(text));
  });

  it('writes to standard output with --out -, and the rest to standard error', async () => {
    const text = await desk.writeRows('leads.csv', 2_000);
    desk.scoresInPolls(2);
    const { exitCode, stdout, stderr } = await desk.score('leads.csv', '--out', '-');
    expect(exitCode).to.equal(0);
    expect(stdout).to.equal(resultsOf(text));
    expect(stderr).to.match(/State +completed/);
  });

  it('refuses standard input, and an output of another format or on the input', async () => {
    await desk.writeRows('leads.csv', 100);
    const results = [
      await callCli(desk.scoreWords('x').with(1, '-')),
      await desk.score('leads.csv', '--out', desk.file('scored.jsonl')),
      await desk.score('leads.csv', '--out', desk.file('leads.csv')),
      await desk.score('leads.csv', '--out', '-', '--json'),
    ];
    expect(results.map(({ exitCode }) => exitCode)).to.deep.equal([2, 2, 2, 2]);
    expect(desk.service.calls).to.deep.equal([]);
  });

  it('a revoked key ends the wait', async () => {
    await desk.writeRows('leads.csv', 2_000);
    let reads = 0;
    desk.service.answering = ({ method }) => {
      reads += method === 'GET' ? 1 : 0;
      return reads > 2 ? { status: 401, code: 'invalid_api_key' } : undefined;
    };
    const { exitCode, stderr } = await desk.score('leads.csv');
    expect(exitCode).to.equal(1);
    expect(stderr).to.include('(invalid_api_key, status 401)');
  });

  it('shows a bar on a terminal, and the pause above it', async () => {
    await desk.writeRows('leads.csv', 2_000);
    desk.scoresInPolls(4);
    const { polled } = desk.service;
    desk.service.polled = (job, poll) => {
      polled(job, poll);
      if (poll === 2) job.state = 'paused';
      job.shown = poll === 2 ? { pause: { reason: 'requested', message: 'It was paused by a call.' } } : {};
    };
    const { exitCode, stderr } = await callCli(desk.scoreWords('leads.csv'), {}, '');
    expect(exitCode).to.equal(0);
    expect(stderr)
      .to.match(/Uploading .*100 %.*KiB/)
      .and.match(/Scoring .*rows/)
      .and.include('░');
    expect(stderr.replaceAll('\n  ', ' ')).to.include('The job is paused. It was paused by a call.');
  });
});
