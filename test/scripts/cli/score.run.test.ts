import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { freePort } from '../../../scripts/local-servers/loopback-port.js';
import { type CliResult, runCli, startCli } from './cli-process.js';
import { FakeScoreService, fakeScore } from './fake-score-service.js';

describe('leadscore score', () => {
  let directory: string;
  let service: FakeScoreService;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'leadscore-score-'));
    service = new FakeScoreService();
    await service.start();
  });

  afterEach(async () => {
    await service.stop();
    await rm(directory, { recursive: true, force: true });
  });

  const file = (name: string): string => join(directory, name);
  const words = (name: string, ...more: string[]): string[] => [
    ...['score', file(name), '--model', 'mdl_a', '--key', 'leadscore_sk_secret', '--url', service.url],
    ...more,
  ];
  const score = (name: string, ...more: string[]): Promise<CliResult> => runCli(words(name, ...more));
  const writeRows = (name: string, count: number): Promise<void> => writeFile(file(name), csvOf(count));
  const scoredRows = async (name: string): Promise<string[][]> =>
    (await readFile(file(name), 'utf8'))
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((line) => line.split(','));
  const expectAllRows = async (name: string, count: number): Promise<void> => {
    const rows = await scoredRows(name);
    expect(rows.map(([crmId]) => crmId)).to.deep.equal(numbers(count).map((n) => `crm-${n}`));
    expect(rows.map(([, , scored]) => Number(scored))).to.deep.equal(numbers(count).map(fakeScore));
  };

  it('writes one row a record, in the order of the file, whatever the order of the answers', async () => {
    await writeRows('leads.csv', 5_500);
    let held: (() => void) | undefined;
    service.answering = async (call) => {
      // The second call is answered only when the third has arrived: they are under way at once.
      if (call.records.some((record) => record.n === '1001')) await new Promise<void>((go) => (held = go));
      if (call.records.some((record) => record.n === '2001')) held?.();
      return undefined;
    };
    const { exitCode, stdout } = await score('leads.csv');
    expect(exitCode).to.equal(0);
    await expectAllRows('leads.scored.csv', 5_500);
    expect(service.calls.map((call) => call.records.length).sort()).to.deep.equal([
      1000, 1000, 1000, 1000, 1000, 500,
    ]);
    expect(service.calls[0]).to.include({
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
    expect(await readdir(directory)).to.have.members(['leads.csv', 'leads.scored.csv']);
  });

  it('reads gzip and JSONL, and writes JSONL with the reasons that were asked for', async () => {
    await writeFile(file('leads.jsonl.gz'), gzipSync('{"n":"7","id":70000000000000001}\n\n{"n":"8"}\n'));
    const { exitCode } = await score('leads.jsonl.gz', '--out', file('out.jsonl'), '--explain');
    expect(exitCode).to.equal(0);
    const lines = (await readFile(file('out.jsonl'), 'utf8'))
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
    expect(service.calls[0]?.explain).to.equal(true);
  });

  it('writes a CSV that quotes what needs it, with the reasons in columns', async () => {
    await writeFile(file('leads.csv'), 'n,crm_id\n1,"a,""b"\n2,\n');
    await score('leads.csv', '--explain');
    expect(await readFile(file('leads.scored.csv'), 'utf8')).to.equal(
      [
        'crm_id,row,score,conversion_likelihood,enriched,previous_score,delta,warnings,top_reason_1,top_reason_2,top_reason_3',
        '"a,""b",1,1,0.25,true,0,1,,"Size is 5, or ""so"" (raises the score)",,',
        ',2,2,0.25,false,,,,"Size is 5, or ""so"" (raises the score)",,',
        '',
      ].join('\n'),
    );
  });

  it('prints results alone on standard output with --out -, and one document with --json', async () => {
    await writeRows('leads.csv', 3);
    const piped = await score('leads.csv', '--out', '-');
    expect(piped.stdout.split('\n')[1]).to.equal('crm-1,1,1,0.25,true,0,1,');
    expect(piped.stdout.trimEnd().split('\n')).to.have.length(4);
    const document = JSON.parse((await score('leads.csv', '--json')).stdout);
    expect(document).to.deep.include({ complete: true, records: 3, rows: 3, enriched: 3, empty_rows: 0 });
    expect(document.usage).to.include({ current: 6 });
    expect(await readdir(directory)).to.have.members(['leads.csv', 'leads.scored.csv']);
  });

  it('waits as long as rate_limited says, and sends the same call again', async () => {
    await writeRows('leads.csv', 1_001);
    service.answering = (call) =>
      call.number === 1 ? { status: 429, code: 'rate_limited', headers: { 'retry-after': '1' } } : undefined;
    const startMs = performance.now();
    expect((await score('leads.csv')).exitCode).to.equal(0);
    expect(performance.now() - startMs).to.be.greaterThan(1_000);
    await expectAllRows('leads.scored.csv', 1_001);
    expect(service.calls).to.have.length(3);
    expect(service.calls[2]?.idempotencyKey).to.equal(service.calls[1]?.idempotencyKey);
  });

  it('sends again after internal_error and a lost connection, under the same idempotency key', async () => {
    await writeRows('leads.csv', 10);
    service.answering = (call) => {
      if (call.number === 0) return { status: 500, code: 'internal_error' };
      return call.number === 1 ? 'hang up' : undefined;
    };
    expect((await score('leads.csv')).exitCode).to.equal(0);
    await expectAllRows('leads.scored.csv', 10);
    expect(new Set(service.calls.map((call) => call.idempotencyKey))).to.have.property('size', 1);
    expect(service.calls).to.have.length(3);
  });

  it('stops at what a retry does not clear, keeps what is done, and goes on from there', async () => {
    await writeRows('leads.csv', 4_000);
    service.answering = (call) =>
      call.records.some((record) => record.n === '2500')
        ? { status: 429, code: 'quota_exceeded', message: 'The backstop is reached.' }
        : undefined;
    const stopped = await score('leads.csv');
    expect(stopped.exitCode).to.equal(1);
    expect(stopped.stderr)
      .to.include('Rows 2,001-3,000 were refused: The backstop is reached. (quota_exceeded, status 429)')
      .and.include('See https://docs.example/errors#quota_exceeded')
      .and.include('Rows 1-2,000 are in')
      .and.include('the same command again goes on after them');
    expect(await scoredRows('leads.scored.csv')).to.have.length(2_000);

    service.answering = () => undefined;
    const resumed = await score('leads.csv');
    expect(resumed.exitCode).to.equal(0);
    expect(resumed.stderr).to.include('Going on after row 2,000');
    await expectAllRows('leads.scored.csv', 4_000);
    expect(service.used).to.equal(4_000);
    expect(service.callsWith(1)).to.have.length(1);
    expect(resumed.stdout).to.match(/Records +4,000/);
  });

  it('names row, line and field of the file where the service names a record', async () => {
    await writeFile(file('leads.csv'), 'n,note\n1,"two\nlines"\n2,x\n');
    service.answering = () => ({
      status: 400,
      code: 'bad_request',
      message: 'records[1]["Annual Revenue"]: expected a number, came an object; records[0].n: expected more',
    });
    const { exitCode, stderr } = await score('leads.csv', '--json');
    expect(exitCode).to.equal(1);
    const { error } = JSON.parse(stderr);
    expect(error.message).to.include(
      'row 2 (line 4), "Annual Revenue": expected a number, came an object; row 1 (line 2), "n": expected more',
    );
    expect(error).to.deep.include({ code: 'bad_request', status: 400, rows: { first: 1, last: 2 } });
    expect(await readdir(directory), 'nothing was done, so nothing is left').to.have.members(['leads.csv']);
  });

  it('finds a wrong key or model with one call, before the others are sent', async () => {
    await writeRows('leads.csv', 5_000);
    service.answering = () => ({ status: 401, code: 'invalid_api_key' });
    expect((await score('leads.csv')).exitCode).to.equal(1);
    expect(service.calls).to.have.length(1);
  });

  it('sends smaller calls to a service that takes no larger bodies', async () => {
    await writeRows('leads.csv', 1_500);
    service.answering = (call) =>
      call.records.length > 200
        ? { status: 400, code: 'bad_request', message: 'The body is larger than 1000 bytes.' }
        : undefined;
    expect((await score('leads.csv')).exitCode).to.equal(0);
    await expectAllRows('leads.scored.csv', 1_500);
    expect(service.used).to.equal(1_500);
  });

  it('ends a run in good order when interrupted, and goes on without counting anything twice', async () => {
    await writeRows('leads.csv', 3_000);
    const { process: child, ended } = startCli(words('leads.csv', '--concurrency', '1'));
    service.answering = (call) => {
      if (call.number === 1) child.kill('SIGINT');
      return undefined;
    };
    const { exitCode, stdout } = await ended;
    expect(exitCode).to.equal(130);
    const done = (await scoredRows('leads.scored.csv')).length;
    expect(done).to.be.oneOf([2_000, 3_000]);
    expect(stdout).to.include('Stopped after row');
    expect((await score('leads.csv')).exitCode).to.equal(0);
    await expectAllRows('leads.scored.csv', 3_000);
    expect(service.used).to.equal(3_000);
  });

  it('goes on after being killed: what was scored but not written is sent again under the same key', async () => {
    await writeRows('leads.csv', 5_000);
    const { process: child, ended } = startCli(words('leads.csv'));
    service.answering = async (call) => {
      // The second batch never gets its answer; the others do, and wait for it to be written.
      if (!call.records.some((record) => record.n === '1001')) return undefined;
      while (service.calls.length < 5) await new Promise(setImmediate);
      child.kill('SIGKILL');
      return 'hang up';
    };
    expect((await ended).exitCode).to.equal(null);
    expect(await scoredRows('leads.scored.csv')).to.have.length(1_000);

    service.answering = () => undefined;
    expect((await score('leads.csv')).exitCode).to.equal(0);
    await expectAllRows('leads.scored.csv', 5_000);
    const [before, again] = service.callsWith(2_001);
    expect(again?.idempotencyKey).to.equal(before?.idempotencyKey);
    expect(service.used).to.equal(5_000);
  });

  it('cuts off what a stop has left behind the last row that is done', async () => {
    await writeRows('leads.csv', 2_500);
    service.answering = (call) =>
      call.number === 2 ? { status: 402, code: 'expired_read_only' } : undefined;
    await score('leads.csv', '--concurrency', '1');
    await writeFile(file('leads.scored.csv'), 'crm-2001,2001,9', { flag: 'a' });
    service.answering = () => undefined;
    expect((await score('leads.csv')).exitCode).to.equal(0);
    await expectAllRows('leads.scored.csv', 2_500);
  });

  it('goes on when rows that are still to come were mended, not when rows that are done were changed', async () => {
    await writeFile(file('leads.csv'), `${csvOf(1_500)}too,many,cells\n`);
    const stopped = await score('leads.csv');
    expect(stopped.stderr).to.include('leads.csv, line 1502 has 3 cells, but the header has 2 columns');
    expect(stopped.exitCode).to.equal(1);
    const done = (await scoredRows('leads.scored.csv')).length;
    expect(done).to.equal(1_000);

    await writeFile(file('leads.csv'), csvOf(1_500).replace('\n7,', '\n8,'));
    const changed = await score('leads.csv');
    expect(changed.exitCode).to.equal(1);
    expect(changed.stderr).to.include(
      'The first 1000 rows of the file are not those that were scored before',
    );

    await writeRows('leads.csv', 1_500);
    expect((await score('leads.csv')).exitCode).to.equal(0);
    await expectAllRows('leads.scored.csv', 1_500);
  });

  it('does not mix two runs in one output: other options, or an output that is there already, are refused', async () => {
    await writeRows('leads.csv', 1_200);
    service.answering = (call) => (call.number === 1 ? { status: 403, code: 'api_disabled' } : undefined);
    await score('leads.csv');
    const other = await score('leads.csv', '--explain');
    expect(other.exitCode).to.equal(1);
    expect(other.stderr).to.include('was begun with another --explain');
    service.answering = () => undefined;
    await score('leads.csv');

    const again = await score('leads.csv');
    expect(again.exitCode).to.equal(1);
    expect(again.stderr).to.include('is there already. Use --restart');
    const usedBefore = service.used;
    expect((await score('leads.csv', '--restart')).exitCode).to.equal(0);
    expect(service.used, 'a run anew is counted anew').to.equal(usedBefore + 1_200);
    await expectAllRows('leads.scored.csv', 1_200);
  });

  it('says what to do when nothing answers, or something else than this API does', async () => {
    await writeRows('leads.csv', 1);
    service.answering = () => ({ status: 200, code: 'none' });
    const strange = await score('leads.csv');
    expect(strange.exitCode).to.equal(1);
    expect(strange.stderr).to.include('Rows 1-1 were refused: it is none');
    const closedPort = await freePort();
    const unreachable = await score('leads.csv', '--url', `http://127.0.0.1:${closedPort}`);
    expect(unreachable.exitCode).to.equal(1);
    expect(unreachable.stderr)
      .to.include(`no answer from http://127.0.0.1:${closedPort}`)
      .and.include('ECONNREFUSED');
  });

  it('is called wrongly with exit code 2', async () => {
    await writeRows('leads.csv', 1);
    const wrong = [
      ['score', file('leads.csv'), '--key', 'k'],
      words('leads.csv', '--concurrency', '0'),
      words('leads.csv', '--out', file('leads.txt')),
      words('leads.csv', '--out', file('leads.csv')),
      words('leads.csv', '--out', '-', '--json'),
      words('leads.csv', '--url', 'ftp://x'),
      words('leads.csv', '--key', 'two words'),
    ];
    for (const each of wrong) expect((await runCli(each)).exitCode, each.join(' ')).to.equal(2);
    expect(service.calls).to.have.length(0);
  });
});

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

/** Rows with their number in `n`, and a crm_id. */
const csvOf = (count: number): string =>
  `n,crm_id\n${numbers(count)
    .map((n) => `${n},crm-${n}\n`)
    .join('')}`;
