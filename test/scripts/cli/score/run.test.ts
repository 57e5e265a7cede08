import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { freePort } from '../../../../scripts/servers/server-process.js';
import { projectFile } from '../../../../shared/process/project-root.js';
import { callCli, runCliProcess } from '../cli-call.js';
import { ScoreDesk } from './score-desk.js';

describe('leadscore score', () => {
  let desk: ScoreDesk;

  beforeEach(async () => {
    desk = await ScoreDesk.open();
  });

  afterEach(() => desk.leave());

  it('writes one row per record in file order, regardless of the order of the replies', async () => {
    await desk.writeRows('leads.csv', 5_500);
    desk.service.answering = async (call) => {
      // The second call is answered only after the third has arrived, so they must be in flight together.
      if (call.records.some((record) => record.n === '1001')) await desk.service.arrival(2_001);
      return undefined;
    };
    const { exitCode, stdout } = await desk.score('leads.csv');
    expect(exitCode).to.equal(0);
    await desk.expectAllRows('leads.scored.csv', 5_500);
    expect(desk.service.calls.map((call) => call.records.length).sort()).to.deep.equal([
      1000, 1000, 1000, 1000, 1000, 500,
    ]);
    expect(desk.service.calls[0]).to.include({
      authorization: 'Bearer leadscore_sk_secret',
      modelId: 'mdl_a',
      explain: false,
    });
    expect(stdout)
      .to.match(/Records +5,500 in .+ \(.+\/s\)/)
      .and.to.match(/Usage +5,500 of 10,000 this month, 4,500 left/);
    expect(stdout)
      .to.match(/Enriched +5,500/)
      .and.to.match(/90-100 .*█/);
    expect(await desk.files()).to.have.members(['leads.csv', 'leads.scored.csv']);
  });

  it('reads gzipped JSONL and writes JSONL with reasons', async () => {
    await writeFile(desk.file('leads.jsonl.gz'), gzipSync('{"n":"7","id":70000000000000001}\n\n{"n":"8"}\n'));
    const { exitCode } = await desk.score('leads.jsonl.gz', '--out', desk.file('out.jsonl'), '--explain');
    expect(exitCode).to.equal(0);
    const lines = (await readFile(desk.file('out.jsonl'), 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ row, score: scored }) => [row, scored])).to.deep.equal([
      [1, 7],
      [2, 8],
    ]);
    expect(lines[0]).to.include({
      top_reason_1: 'Size is 5, or "so" (raises the score)',
      top_reason_2: null,
    });
    expect(desk.service.calls[0]?.explain).to.equal(true);
  });

  it('writes no CSV cell that a spreadsheet takes for a formula, and reads the crm_id of such a cell back', async () => {
    await writeFile(desk.file('leads.csv'), 'n,crm_id\n1,"=HYPERLINK(""x"")"\n2,-12.5\n3,@a\n');
    await desk.score('leads.csv', '--only-scores');
    const written = await readFile(desk.file('leads.scored.csv'), 'utf8');
    const crmIds = written.split('\n').map((line) => line.replace(/,\d.*$/, ''));
    expect(crmIds.slice(1, 4)).to.deep.equal([`"'=HYPERLINK(""x"")"`, '-12.5', "'@a"]);
    const sent = () => desk.service.calls.at(-1)?.records.map(({ crm_id }) => crm_id);
    const raw = ['=HYPERLINK("x")', '-12.5', '@a'];
    expect(sent()).to.deep.equal(raw);
    await desk.score('leads.scored.csv', '--out', desk.file('again.csv'));
    expect(sent()).to.deep.equal(raw);
  });

  it('writes a CSV of only scores with quoted cells and with reasons in columns', async () => {
    await writeFile(desk.file('leads.csv'), 'n,crm_id\n1,"a,""b"\n2,\n');
    await desk.score('leads.csv', '--explain', '--only-scores');
    expect(await readFile(desk.file('leads.scored.csv'), 'utf8')).to.equal(
      [
        'crm_id,row,score,conversion_likelihood,enriched,previous_score,delta,warnings,top_reason_1,top_reason_2,top_reason_3,error',
        '"a,""b",1,1,0.25,true,0,1,,"Size is 5, or ""so"" (raises the score)",,,',
        ',2,2,0.25,false,,,,"Size is 5, or ""so"" (raises the score)",,,',
        '',
      ].join('\n'),
    );
  });

  it('prints only results on standard output with --out -, and one document with --json', async () => {
    await desk.writeRows('leads.csv', 3);
    const piped = await desk.score('leads.csv', '--out', '-');
    expect(piped.stdout.split('\n')[1]).to.equal('1,crm-1,1,0.25,true,0,1,,');
    const onlyScores = await desk.score('leads.csv', '--out', '-', '--only-scores');
    expect(onlyScores.stdout.split('\n')[1]).to.equal('crm-1,1,1,0.25,true,0,1,,');
    expect(piped.stdout.trimEnd().split('\n')).to.have.length(4);
    const document = JSON.parse((await desk.score('leads.csv', '--json')).stdout);
    expect(document).to.deep.include({ complete: true, records: 3, rows: 3, enriched: 3, empty_rows: 0 });
    expect(document.usage).to.include({ current: 9 });
    expect(await desk.files()).to.have.members(['leads.csv', 'leads.scored.csv']);
  });

  it('retries a rate_limited call after Retry-After with the same idempotency key', async () => {
    await desk.writeRows('leads.csv', 1_001);
    desk.service.answering = (call) =>
      call.number === 1 ? { status: 429, code: 'rate_limited', headers: { 'retry-after': '1' } } : undefined;
    const startMs = performance.now();
    expect((await desk.score('leads.csv')).exitCode).to.equal(0);
    expect(performance.now() - startMs).to.be.greaterThan(1_000);
    await desk.expectAllRows('leads.scored.csv', 1_001);
    expect(desk.service.calls).to.have.length(3);
    expect(desk.service.calls[2]?.idempotencyKey).to.equal(desk.service.calls[1]?.idempotencyKey);
  });

  it('retries after internal_error and after a lost connection with the same idempotency key', async () => {
    await desk.writeRows('leads.csv', 10);
    desk.service.answering = (call) => {
      if (call.number === 0) return { status: 500, code: 'internal_error' };
      return call.number === 1 ? 'hang up' : undefined;
    };
    expect((await desk.score('leads.csv')).exitCode).to.equal(0);
    await desk.expectAllRows('leads.scored.csv', 10);
    expect(new Set(desk.service.calls.map((call) => call.idempotencyKey))).to.have.property('size', 1);
    expect(desk.service.calls).to.have.length(3);
  });

  it('sends only one call with a wrong key', async () => {
    await desk.writeRows('leads.csv', 5_000);
    desk.service.answering = () => ({ status: 401, code: 'invalid_api_key' });
    expect((await desk.score('leads.csv')).exitCode).to.equal(1);
    expect(desk.service.calls).to.have.length(1);
  });

  it('splits calls when the service refuses the size of their bodies', async () => {
    await desk.writeRows('leads.csv', 1_500);
    desk.service.answering = (call) =>
      call.records.length > 200
        ? { status: 400, code: 'bad_request', message: 'The body is larger than 1000 bytes.' }
        : undefined;
    expect((await desk.score('leads.csv')).exitCode).to.equal(0);
    await desk.expectAllRows('leads.scored.csv', 1_500);
    expect(desk.service.used).to.equal(1_500);
  });

  it('names the remedy when the service cannot be reached, and reports a reply without scores', async () => {
    await desk.writeRows('leads.csv', 1);
    desk.service.answering = () => ({ status: 200, code: 'none' });
    const strange = await desk.score('leads.csv');
    expect(strange.exitCode).to.equal(1);
    expect(strange.stderr).to.include('Row 1 was refused: it is none (none, status 200)');
    const closedPort = await freePort();
    const unreachable = await desk.score('leads.csv', '--url', `http://127.0.0.1:${closedPort}`);
    expect(unreachable.exitCode).to.equal(1);
    expect(unreachable.stderr)
      .to.include(`Row 1 was not scored: no answer from http://127.0.0.1:${closedPort}: `)
      .and.include('ECONNREFUSED')
      .and.include('Check --url, and that the service is running');
  });

  it('exits with 2 on invalid options without sending a call', async () => {
    await desk.writeRows('leads.csv', 1);
    const wrong = [
      ['score', desk.file('leads.csv'), '--key', 'k'],
      desk.words('leads.csv', '--concurrency', '0'),
      desk.words('leads.csv', '--out', desk.file('leads.txt')),
      desk.words('leads.csv', '--out', desk.file('leads.csv')),
      desk.words('leads.csv', '--out', '-', '--json'),
      desk.words('leads.csv', '--url', 'ftp://x'),
      desk.words('leads.csv', '--key', 'two words'),
    ];
    for (const each of wrong) expect((await callCli(each)).exitCode, each.join(' ')).to.equal(2);
    const noKey = await runCliProcess(desk.words('leads.csv', '--key', ''));
    expect(noKey).to.deep.include({ exitCode: 2, stderr: 'Error: --key is empty\n' });
    expect(desk.service.calls).to.have.length(0);
  });
});

describe('leadscore score with an unwritable output', () => {
  let desk: ScoreDesk;

  beforeEach(async () => {
    desk = await ScoreDesk.open();
    await desk.writeRows('leads.csv', 4_000);
  });

  afterEach(() => desk.leave());

  /** Scores with a file size limit in blocks of 512 or 1024 bytes, which simulates a full disk. */
  async function scoreOnFullDisk(blocks: number): Promise<string> {
    const words = [process.execPath, projectFile('dist/scripts/cli/main.js'), ...desk.words('leads.csv')];
    const child = spawn('sh', ['-c', `ulimit -f ${blocks} && exec "$@"`, 'sh', ...words]);
    return text(child.stderr);
  }

  it('exits with 1 and the reason before it sends a call, also with --restart', async () => {
    await mkdir(desk.file('folder.csv'));
    for (const [name, why] of [
      ['none/out.csv', 'no such folder'],
      ['leads.csv/out.csv', 'part of its path is a file'],
      ['folder.csv', 'it is a folder'],
    ] as const) {
      for (const more of [[], ['--restart']]) {
        const { exitCode, stderr } = await desk.score('leads.csv', '--out', desk.file(name), ...more);
        expect(exitCode, name).to.equal(1);
        expect(stderr).to.match(new RegExp(`^Error: Cannot write .*: ${why}\n$`));
      }
    }
    expect(desk.service.calls).to.deep.equal([]);
  });

  for (const [which, blocks] of [
    ['the first rows', 4],
    ['later rows', 90],
  ] as const) {
    it(`resumes after a full disk at ${which} without counting a record twice`, async () => {
      const stderr = await scoreOnFullDisk(blocks);
      expect(stderr).to.match(/^Error: Cannot write .*leads\.scored\.csv.*: the file size limit is reached\n/m);
      const resumed = await desk.score('leads.csv');
      expect(resumed.exitCode, resumed.stderr).to.equal(0);
      await desk.expectAllRows('leads.scored.csv', 4_000);
      expect(desk.service.used).to.equal(4_000);
    });
  }
});
