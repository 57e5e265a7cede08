import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { csvOf, ScoreDesk } from './score-desk.js';

describe('leadscore score after an interruption', () => {
  let desk: ScoreDesk;

  beforeEach(async () => {
    desk = await ScoreDesk.open();
  });

  afterEach(() => desk.leave());

  it('keeps the rows before a quota error, and the same command resumes after them', async () => {
    await desk.writeRows('leads.csv', 4_000);
    desk.service.answering = async (call) => {
      if (!call.records.some((record) => record.n === '2500')) return undefined;
      // The calls before and after it are answered first.
      await Promise.all([1_001, 3_001].map((n) => desk.service.arrival(n)));
      return { status: 429, code: 'quota_exceeded', message: 'The backstop is reached.' };
    };
    const output = desk.file('leads.scored.csv');
    const counted = `3,000 rows were scored and counted; 2,000 of them are in ${output}. The next run writes the other 1,000 from ${output}.resume, unless you delete these rows.`;
    const stopped = await desk.score('leads.csv');
    expect(stopped.exitCode).to.equal(1);
    expect(stopped.stderr)
      .to.include('Rows 2,001-3,000 were refused: The backstop is reached. (quota_exceeded, status 429)')
      .and.include('See https://docs.example/errors#quota_exceeded')
      .and.include(`${counted}\n`)
      .and.include('Run the same command again to resume. No row is counted twice');
    expect(await desk.scoredRows('leads.scored.csv')).to.have.length(2_000);

    desk.service.answering = () => undefined;
    const resumed = await desk.score('leads.csv');
    expect(resumed.exitCode).to.equal(0);
    expect(resumed.stderr).to.include('Resuming after row 2,000.\n');
    await desk.expectAllRows('leads.scored.csv', 4_000);
    expect(desk.service.used).to.equal(4_000);
    expect(desk.service.callsWith(1)).to.have.length(1);
    expect(resumed.stdout).to.match(/Records +4,000/);
  });

  it('exits with 130 on SIGINT, and resumes without counting a record twice', async () => {
    await desk.writeRows('leads.csv', 3_000);
    const { process: child, ended } = desk.startScore('leads.csv', '--concurrency', '1');
    desk.service.answering = (call) => {
      if (call.number === 1) child.kill('SIGINT');
      return undefined;
    };
    const { exitCode, stdout } = await ended;
    expect(exitCode).to.equal(130);
    const done = (await desk.scoredRows('leads.scored.csv')).length;
    expect(done).to.be.oneOf([2_000, 3_000]);
    expect(stdout).to.include('Stopped after row');
    expect((await desk.score('leads.csv')).exitCode).to.equal(0);
    await desk.expectAllRows('leads.scored.csv', 3_000);
    expect(desk.service.used).to.equal(3_000);
  });

  it('after SIGKILL sends scored but unwritten records again with the same idempotency key', async () => {
    await desk.writeRows('leads.csv', 5_000);
    const { process: child, ended } = desk.startScore('leads.csv');
    desk.service.answering = async (call) => {
      // Only the second batch gets no answer. The later ones wait in memory until it is written.
      if (!call.records.some((record) => record.n === '1001')) return undefined;
      await Promise.all([2_001, 3_001, 4_001].map((n) => desk.service.arrival(n)));
      child.kill('SIGKILL');
      return 'hang up';
    };
    expect((await ended).exitCode).to.equal(null);
    expect(await desk.scoredRows('leads.scored.csv')).to.have.length(1_000);

    desk.service.answering = () => undefined;
    expect((await desk.score('leads.csv')).exitCode).to.equal(0);
    await desk.expectAllRows('leads.scored.csv', 5_000);
    const [before, again] = desk.service.callsWith(1_001);
    expect(again).to.deep.include({ idempotencyKey: before?.idempotencyKey, records: before?.records });
    expect(desk.service.used).to.equal(5_000);
  });

  it('says what earlier runs have counted when it fails again before their results are written', async () => {
    await desk.writeRows('leads.csv', 4_000);
    const counted = '3,000 rows were scored and counted; 1,000 of them are in';
    desk.service.answering = async (call) => {
      if (!call.records.some((record) => record.n === '1001')) return undefined;
      await Promise.all([2_001, 3_001].map((n) => desk.service.arrival(n)));
      return { status: 402, code: 'expired_read_only' };
    };
    expect((await desk.score('leads.csv')).stderr).to.include(counted);
    desk.service.answering = () => ({ status: 402, code: 'expired_read_only' });
    expect((await desk.score('leads.csv')).stderr).to.include(counted);
    desk.service.answering = () => undefined;
    expect((await desk.score('leads.csv')).exitCode).to.equal(0);
    await desk.expectAllRows('leads.scored.csv', 4_000);
    expect(desk.service.used).to.equal(4_000);
  });

  it('cuts off an incomplete line after the last written row', async () => {
    await desk.writeRows('leads.csv', 2_500);
    desk.service.answering = (call) => (call.number === 2 ? { status: 402, code: 'expired_read_only' } : undefined);
    await desk.score('leads.csv', '--concurrency', '1');
    await writeFile(desk.file('leads.scored.csv'), '2001,crm-2001,9', { flag: 'a' });
    desk.service.answering = () => undefined;
    expect((await desk.score('leads.csv')).exitCode).to.equal(0);
    await desk.expectAllRows('leads.scored.csv', 2_500);
  });

  it('resumes after rows were corrected, and counts a scored row again only if its values have changed', async () => {
    await writeFile(desk.file('leads.csv'), `${csvOf(1_500)}"not,closed\n`);
    const stopped = await desk.score('leads.csv');
    expect(stopped.stderr).to.include('leads.csv: The quote in line 1502, column 1 is not closed');
    expect(stopped.exitCode).to.equal(1);
    await writeFile(desk.file('leads.csv'), csvOf(1_500).replace('\n7,', '\n8,'));
    expect((await desk.score('leads.csv')).exitCode).to.equal(0);
    expect((await desk.scoredRows('leads.scored.csv'))[6]?.slice(0, 3)).to.deep.equal(['8', 'crm-7', '8']);
    expect(desk.service.used).to.equal(1_501);
  });

  it('refuses another file under the same name, and leaves the output as it is', async () => {
    await desk.writeRows('leads.csv', 1_500);
    desk.service.answering = (call) => (call.number === 1 ? { status: 402, code: 'expired_read_only' } : undefined);
    await desk.score('leads.csv');
    await writeFile(desk.file('leads.csv'), csvOf(1_500).replaceAll('crm-', 'other-'));
    const { exitCode, stderr } = await desk.score('leads.csv');
    expect(exitCode).to.equal(1);
    expect(stderr).to.include('leads.csv has none of the 1,000 rows that earlier runs have scored into this output');
    await desk.writeRows('leads.csv', 1_500);
    expect((await desk.score('leads.csv')).exitCode).to.equal(0);
    await desk.expectAllRows('leads.scored.csv', 1_500);
    expect(desk.service.used).to.equal(1_500);
  });

  it('asks for --send-again when the lost reply is so old that the service has forgotten the call', async () => {
    await desk.writeRows('leads.csv', 1_500);
    const { process: child, ended } = desk.startScore('leads.csv', '--concurrency', '1');
    desk.service.answering = (call) => {
      if (call.number === 0) return undefined;
      child.kill('SIGKILL');
      return 'hang up';
    };
    await ended;
    desk.service.answering = () => undefined;
    const folder = desk.file('leads.scored.csv.resume');
    const [name = ''] = (await readdir(folder)).filter((each) => each.startsWith('call-'));
    const [line = '', body] = (await readFile(join(folder, name), 'utf8')).split('\n');
    const call = { ...JSON.parse(line), sentAtMs: Date.now() - 24 * 3_600_000 };
    await writeFile(join(folder, name), `${JSON.stringify(call)}\n${body}\n`);
    const refused = await desk.score('leads.csv');
    expect(refused.exitCode).to.equal(1);
    expect(refused.stderr)
      .to.include('500 rows were sent more than 24 hours ago and their reply was lost')
      .and.include('1,000 rows were scored and counted; all of them are in');
    expect((await desk.score('leads.csv', '--send-again')).exitCode).to.equal(0);
    await desk.expectAllRows('leads.scored.csv', 1_500);
    expect(desk.service.callsWith(1_001).map(({ idempotencyKey }) => idempotencyKey === call.key)).to.deep.equal([
      true,
      false,
    ]);
  });

  it('refuses the progress of another version unless --restart is given', async () => {
    await desk.writeRows('leads.csv', 5);
    await writeFile(desk.file('leads.scored.csv.resume.json'), '{"format":1}');
    const { exitCode, stderr } = await desk.score('leads.csv');
    expect(exitCode).to.equal(1);
    expect(stderr).to.include('leads.scored.csv.resume.json is the progress of another version');
    expect((await desk.score('leads.csv', '--restart')).exitCode).to.equal(0);
    expect(await desk.files()).to.have.members(['leads.csv', 'leads.scored.csv']);
  });

  it('refuses to resume with other options and to overwrite a completed output without --restart', async () => {
    await desk.writeRows('leads.csv', 1_200);
    desk.service.answering = (call) => (call.number === 1 ? { status: 403, code: 'api_disabled' } : undefined);
    await desk.score('leads.csv');
    const other = await desk.score('leads.csv', '--explain');
    expect(other.exitCode).to.equal(1);
    expect(other.stderr).to.include('was started with another --explain');
    desk.service.answering = () => undefined;
    await desk.score('leads.csv');

    const again = await desk.score('leads.csv');
    expect(again.exitCode).to.equal(1);
    expect(again.stderr).to.include('already exists. Use --restart');
    const usedBefore = desk.service.used;
    expect((await desk.score('leads.csv', '--restart')).exitCode).to.equal(0);
    expect(desk.service.used, 'a restarted run is counted again').to.equal(usedBefore + 1_200);
    await desk.expectAllRows('leads.scored.csv', 1_200);
  });
});
