import { expect } from 'chai';
import { callIdGenerator, jobIdOf } from '../../../../shared/contract/identifiers.js';
import { connectMongo } from '../../../../shared/store/connection/connect.js';
import { createJob } from '../../../../shared/store/jobs/create-job.js';
import { type Job, jobLimits } from '../../../../shared/store/jobs/job-documents.js';
import { sampleJob } from '../../../support/jobs/sample-job.js';
import { callCli } from '../cli-call.js';
import { operatorDesk } from '../operator-desk.js';
import { JobDesk } from './job-desk.js';

describe('leadscore job list, show, pause, resume, cancel and delete', () => {
  let desk: JobDesk;

  beforeEach(async () => {
    desk = await JobDesk.open();
  });

  afterEach(() => desk.leave());

  it('list shows a line for each job, with the reason of a pause', async () => {
    desk.service.add('completed', { rows: 12_345, scored: 12_340, failed: 5 });
    desk.service.add('paused', { shown: { pause: { reason: 'quota_exceeded', message: 'x' } } });
    const { exitCode, stdout } = await desk.run('list');
    expect(exitCode).to.equal(0);
    expect(stdout)
      .to.match(/^Job +State +Rows +Scored +Failed +Created +Paused\n/)
      .and.match(/job_1 +completed +12,345 +12,340 +5 +2026-11-24\n/)
      .and.match(/job_2 +paused +- +0 +0 +2026-11-24 +quota_exceeded\n/);
  });

  it('list follows the pages up to its limit', async () => {
    for (let number = 0; number < 250; number += 1) desk.service.add('completed');
    const listed = async (...more: string[]) => JSON.parse((await desk.run('list', '--json', ...more)).stdout).jobs;
    expect(await listed()).to.have.length(20);
    expect(await listed('--limit', '230')).to.have.length(230);
    expect(await listed('--limit', '1000')).to.have.length(250);
    expect(desk.service.calls.at(-1)).to.equal('GET ?limit=100&cursor=200');
  });

  it('list without jobs names the command that creates one', async () => {
    expect((await desk.run('list')).stdout).to.include('job create FILE');
  });

  it('create takes a file or stored leads, and no option of the other', async () => {
    const to = ['--model', 'mdl_a', '--key', 'key'];
    for (const [words, problem] of [
      [[], 'Name a file, or score stored leads again with --stored'],
      [['leads.csv', '--stored'], 'A job with --stored has no file'],
      [['--stored', '--crm-id', 'Id', '--strict'], '--crm-id, --strict is about a file, and --stored has none'],
      [['leads.csv', '--max-rows', '5'], '--max-rows needs --stored'],
      [['--stored', '--sent-within-days', '366'], '--sent-within-days'],
    ] as const) {
      const { exitCode, stderr } = await callCli(['job', 'create', ...to, ...words]);
      expect([exitCode, stderr.includes(problem)], stderr).to.deep.equal([2, true]);
    }
  });

  it('list needs either a key or an organisation', async () => {
    const { exitCode, stderr } = await callCli(['job', 'list']);
    expect(exitCode).to.equal(2);
    expect(stderr).to.include('Give --key').and.include('--org');
    expect((await desk.run('list', '--org', 'org_a')).exitCode).to.equal(2);
  });

  it('show prints the fields of a job, and --json the document of the API', async () => {
    desk.service.add('running', {
      rows: 1_000,
      scored: 250,
      failed: 2,
      shown: { validation: { state: 'passed', summary: 'Passed.' }, unknown_member: 1 },
    });
    const { stdout } = await desk.run('show', 'job_1');
    expect(stdout)
      .to.match(/Model +mdl_a version 2026\.11\.0\n/)
      .and.match(/Rows +1,000: 250 scored, 2 failed \(25 %\)\n/)
      .and.match(/Pace +2,000 rows\/s, 3\.0 s left\n/)
      .and.match(/Validation +Passed\.\n/)
      .and.match(/Kept until +2026-12-01 08:00\n/);
    const document = JSON.parse((await desk.run('show', 'job_1', '--json')).stdout);
    expect(document).to.include({ job_id: 'job_1', unknown_member: 1 });
  });

  it('show of an unknown job exits with 1 and the code of the API', async () => {
    const { exitCode, stderr } = await desk.run('show', 'job_9', '--json');
    expect(exitCode).to.equal(1);
    expect(JSON.parse(stderr).error).to.include({ code: 'not_found', status: 404 });
  });

  it('pause, resume and cancel change the state', async () => {
    desk.service.add('running');
    for (const [command, state] of [
      ['pause', 'paused'],
      ['resume', 'running'],
      ['cancel', 'canceled'],
    ] as const) {
      const { exitCode, stdout } = await desk.run(command, 'job_1', '--json');
      expect(exitCode).to.equal(0);
      expect(JSON.parse(stdout).state).to.equal(state);
    }
  });

  it('a command whose answer is lost succeeds if the job is in its state', async () => {
    const job = desk.service.add('running');
    let posts = 0;
    desk.service.answering = ({ method }) => {
      if (method !== 'POST') return undefined;
      posts += 1;
      job.state = 'paused';
      return posts === 1 ? { status: 502, code: 'internal_error' } : { status: 409, code: 'job_state_conflict' };
    };
    expect((await desk.run('pause', 'job_1')).exitCode).to.equal(0);
  });

  it('a state that does not allow a command exits with 1', async () => {
    desk.service.add('completed');
    desk.service.answering = ({ method }) =>
      method === 'POST' ? { status: 409, code: 'job_state_conflict', message: 'the job has completed' } : undefined;
    const { exitCode, stderr } = await desk.run('pause', 'job_1');
    expect(exitCode).to.equal(1);
    expect(stderr).to.include('The job has completed (job_state_conflict, status 409)\nSee https://');
  });

  it('delete asks on a terminal, and removes the job after yes', async () => {
    desk.service.add('completed', { scored: 1_234 });
    const words = desk.words('delete', 'job_1');
    const no = await callCli(words, {}, 'n\n');
    expect(no.exitCode).to.equal(1);
    expect(no.stderr).to.include('Delete job_1 (completed, 1,234 rows scored) with its files?');
    expect(desk.service.jobs).to.have.length(1);
    expect((await callCli(words, {}, 'y\n')).exitCode).to.equal(0);
    expect(desk.service.jobs).to.have.length(0);
  });

  it('list --org reads the jobs of all keys of an organisation from MongoDB', async () => {
    const operator = await operatorDesk();
    const mongo = await connectMongo(operator.databases.mongoUrl, { name: 'test' });
    try {
      const [own, other] = [await operator.newOrganisation(), await operator.newOrganisation()];
      const newId = callIdGenerator();
      const add = async (org: string, bucket: Job['bucket'], more: Partial<Job>, atMs: number) => {
        const id = jobIdOf(newId(atMs, org));
        const job = sampleJob({ ...more, _id: id, org, bucket, created_at: new Date(atMs) });
        expect(await createJob(mongo.database, job, jobLimits.unfinishedJobs)).to.equal('created');
        return id;
      };
      const first = await add(own, 'live', { state: 'completed' }, 1_760_000_000_000);
      const pause = { reason: 'quota_exceeded', message: 'No quota.', resume_at: new Date('2026-12-01') } as const;
      const second = await add(own, 'test', { state: 'paused', pause }, 1_760_000_100_000);
      await add(other, 'live', {}, 1_760_000_200_000);
      const { jobs } = await operator.document('job', 'list', '--org', own);
      expect(jobs).to.have.length(2);
      expect(jobs).to.deep.include.members([
        {
          job_id: second,
          org_id: own,
          key_id: 'key_1',
          created_by: 'key_1',
          kind: 'test',
          state: 'paused',
          pause: { reason: 'quota_exceeded', message: 'No quota.', resumes_at: '2026-12-01T00:00:00.000Z' },
          model_id: 'mdl_1',
          model_version: '1',
          progress: { rows: null, scored: 0, failed: 0, empty: 0 },
          created_at: new Date(1_760_000_100_000).toISOString(),
          expires_at: '2026-12-08T00:00:00.000Z',
        },
      ]);
      const { stdout } = await operator.run('job', 'list', '--org', own);
      expect(stdout.indexOf(second), 'newest first').to.be.within(0, stdout.indexOf(first));
      const unknown = await operator.run('job', 'list', '--org', 'org_x');
      expect(unknown.exitCode).to.equal(1);
      expect(unknown.stderr).to.include('npx leadscore org list');
    } finally {
      await mongo.client.close();
      await operator.leave();
    }
  });
});
