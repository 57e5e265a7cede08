import { writeFile } from 'node:fs/promises';
import { expect } from 'chai';
import { callCli } from '../cli-call.js';
import { JobDesk, resultsOf } from './job-desk.js';

describe('leadscore score with a file that was scored before', () => {
  let desk: JobDesk;

  beforeEach(async () => {
    desk = await JobDesk.open();
  });

  afterEach(() => desk.leave());

  it('finds the results of the same content under another name, and counts nothing again', async () => {
    const text = await desk.writeRows('leads.csv', 2_000);
    desk.scoresInPolls(2);
    await desk.score('leads.csv');
    await writeFile(desk.file('copy.csv'), text);
    const { exitCode, stderr } = await desk.score('copy.csv');
    expect(exitCode, stderr).to.equal(0);
    expect(stderr).to.include('This file was scored by version 2026.11.0 (job_1, 2026-11-24 08:00).');
    expect(stderr).to.include('Nothing is counted again. To score it once more, add --again.');
    expect(await desk.read('copy.scored.csv')).to.equal(resultsOf(text));
    expect(desk.service.jobs).to.have.length(1);
  });

  it('--again scores a file once more, replaces its results, and goes on after a Ctrl-C', async () => {
    await desk.writeRows('leads.csv', 2_000);
    desk.scoresInPolls(2);
    await desk.score('leads.csv');
    desk.service.uploaded = () => undefined;
    desk.service.answering = ({ method }) => (method === 'PUT' ? { status: 400, code: 'bad_request' } : undefined);
    expect((await desk.score('leads.csv', '--again')).exitCode).to.equal(1);
    expect(desk.service.jobs).to.have.length(2);
    desk.service.answering = () => undefined;
    desk.service.uploaded = (job) => {
      job.state = 'reading';
    };
    const { exitCode, stderr } = await desk.score('leads.csv');
    expect(exitCode, stderr).to.equal(0);
    expect(desk.service.jobs.map(({ state }) => state)).to.deep.equal(['completed', 'completed']);
    expect(desk.service.calls.filter((call) => call === 'PUT /job_2/input')).to.have.length(2);
  });

  it('says which version scores now, and asks on a terminal whether the file is scored again', async () => {
    await desk.writeRows('leads.csv', 2_000);
    desk.scoresInPolls(2);
    await desk.score('leads.csv');
    desk.service.modelVersion = '2026.12.0';
    const { stderr } = await desk.score('leads.csv');
    expect(stderr).to.include('and version 2026.12.0 scores calls now. Nothing is counted again.');
    expect(desk.service.jobs).to.have.length(1);
    const asked = await callCli(desk.scoreWords('leads.csv'), {}, 'y\n');
    expect(asked.exitCode, asked.stderr).to.equal(0);
    expect(desk.service.jobs).to.have.length(2);
  });

  it('refuses a changed file of the same name without a terminal, unless --yes is there', async () => {
    await desk.writeRows('leads.csv', 2_000);
    desk.scoresInPolls(2);
    await desk.score('leads.csv');
    const text = await desk.writeRows('leads.csv', 2_100);
    const { exitCode, stderr } = await desk.score('leads.csv');
    expect(exitCode).to.equal(1);
    expect(stderr).to.include('leads.csv has changed since it was scored (job_1, ').and.include('add --yes');
    expect(desk.service.jobs).to.have.length(1);
    expect((await desk.score('leads.csv', '--yes')).exitCode).to.equal(0);
    expect(await desk.read('leads.scored.csv'), 'results of the earlier file are ours').to.equal(resultsOf(text));
    expect(desk.service.jobs).to.have.length(2);
  });

  it('a file that could not be read is a new job at the next run', async () => {
    await desk.writeRows('leads.csv', 2_000);
    desk.service.polled = (job) => {
      job.state = 'failed';
    };
    await desk.score('leads.csv');
    desk.scoresInPolls(2);
    expect((await desk.score('leads.csv')).exitCode).to.equal(0);
    expect(desk.service.jobs.map(({ state }) => state)).to.deep.equal(['failed', 'completed']);
  });

  it('a file of another format by its name was refused: under the right name it is a new job', async () => {
    const text = await desk.writeRows('leads.jsonl', 2_000);
    desk.service.polled = (job) => {
      job.state = 'failed';
    };
    await desk.score('leads.jsonl');
    await writeFile(desk.file('leads.csv'), text);
    desk.scoresInPolls(2);
    const { exitCode, stderr } = await desk.score('leads.csv');
    expect(exitCode, stderr).to.equal(0);
    expect(desk.service.jobs.map(({ state }) => state)).to.deep.equal(['failed', 'completed']);
  });
});
