import { readFile, writeFile } from 'node:fs/promises';
import { expect } from 'chai';
import { RefusalMemory, refusedRecords } from '../../../../scripts/cli/score/calls/refused-records.js';
import { csvOf, ScoreDesk } from './score-desk.js';

const unknown = ': expected at least one field that the model knows, came none (it has "Id"; "x; records[7]: y")';

describe('rows that cannot be scored', () => {
  let desk: ScoreDesk;

  beforeEach(async () => {
    desk = await ScoreDesk.open();
  });

  afterEach(() => desk.leave());

  it('come out with a reason while all others are scored, and are sent alone once they are corrected', async () => {
    desk.service.problemOf = ({ n }) =>
      n === '7' ? '["Annual Revenue"]: expected a number, came an object' : n === undefined ? unknown : undefined;
    await writeFile(desk.file('leads.csv'), csvOf(1_500).replace('\n1200,', '\n,'));
    const first = await desk.score('leads.csv');
    expect(first.exitCode, first.stderr).to.equal(0);
    expect(first.stdout.replace(/\s+/g, ' '))
      .to.include('No score 2 rows, not counted')
      .and.include('leads.csv, line 8: Annual Revenue: expected a number, came an object')
      .and.include('leads.csv, line 1201: expected at least one field that the model knows, came none')
      .and.include('Correct these rows and run the same command again');
    const rows = await desk.scoredRows('leads.scored.csv');
    expect(rows).to.have.length(1_500);
    expect(rows[6]?.join()).to.equal(
      '7,crm-7,,,,,,,Annual Revenue: expected a number, came an object'.replace(/(A.*)/, '"$1"'),
    );
    expect(rows[1_199]?.join()).to.include(',crm-1200,,,,,,,"expected at least one field');
    expect(desk.service.used).to.equal(1_498);

    desk.service.problemOf = () => undefined;
    await desk.writeRows('leads.csv', 1_500);
    const sentBefore = desk.service.calls.length;
    const corrected = await desk.score('leads.csv', '--json');
    expect(JSON.parse(corrected.stdout)).to.deep.include({ records: 1_499, rows_without_score: 1, complete: true });
    const sentRows = desk.service.calls.slice(sentBefore).flatMap(({ records }) => records);
    expect(sentRows).to.deep.equal([{ n: '1200', crm_id: 'crm-1200' }]);
    expect(desk.service.used).to.equal(1_499);
  });

  it('end the command with 1 with --strict, and are in the JSON output with their crm_id', async () => {
    desk.service.problemOf = ({ n }) => (n === 2 ? '.n: expected a text, came a number' : undefined);
    await writeFile(desk.file('leads.jsonl'), '{"n":"1"}\n{"n":2,"crm_id":"b"}\n');
    const { exitCode, stdout } = await desk.score('leads.jsonl', '--strict', '--json', '--out', desk.file('o.jsonl'));
    expect(exitCode).to.equal(1);
    expect(JSON.parse(stdout)).to.deep.include({
      records: 1,
      rows_without_score: 1,
      problems: ['leads.jsonl, line 2: n: expected a text, came a number'],
    });
    const lines = (await readFile(desk.file('o.jsonl'), 'utf8')).trimEnd().split('\n');
    expect(lines[1]).to.equal('{"row":2,"crm_id":"b","error":"n: expected a text, came a number"}');
  });

  it('take two calls more, not two hundred, when a thousand have no field that the model knows', async () => {
    desk.service.problemOf = ({ n }) => (n === undefined ? unknown : undefined);
    const rows = Array.from({ length: 3_000 }, (_, index) => (index < 1 || index % 3 !== 0 ? `${index}` : ''));
    await writeFile(desk.file('leads.csv'), `n,Id\n${rows.map((n, index) => `${n},${index}`).join('\n')}\n`);
    const { exitCode, stdout } = await desk.score('leads.csv');
    expect(exitCode).to.equal(0);
    expect(stdout).to.include('leads.csv, 999 rows, first in line 5: expected at least one field');
    expect(desk.service.used).to.equal(2_001);
    expect(desk.service.calls.length).to.be.at.most(8);
  });

  it('stop the run with a clear error and without files if they are all rows of the first call', async () => {
    desk.service.problemOf = () => unknown;
    await desk.writeRows('leads.csv', 9_000);
    const { exitCode, stderr } = await desk.score('leads.csv');
    expect(exitCode).to.equal(1);
    expect(stderr)
      .to.include(
        'None of the first 1,000 rows of leads.csv can be scored, so the run has stopped. Nothing was counted',
      )
      .and.include('leads.csv, 1,000 rows, first in line 2: expected at least one field that the model knows');
    expect(desk.service.calls.length).to.be.at.most(2);
    expect(await desk.files()).to.deep.equal(['leads.csv']);
  });

  it('are found by halving when the service names no record, and a fault of the whole call ends the run', async () => {
    await desk.writeRows('leads.csv', 1_000);
    const deep = { status: 422, code: 'bad_request', message: 'Objects are nested deeper than 32 levels.' };
    desk.service.answering = ({ records }) => (records.some(({ n }) => n === '500') ? deep : undefined);
    expect((await desk.score('leads.csv')).exitCode).to.equal(0);
    expect((await desk.scoredRows('leads.scored.csv'))[499]?.at(-1)).to.equal(
      'Objects are nested deeper than 32 levels',
    );
    expect(desk.service.used).to.equal(999);
    const before = desk.service.calls.length;
    desk.service.answering = () => deep;
    const { exitCode, stderr } = await desk.score('leads.csv', '--restart');
    expect(exitCode).to.equal(1);
    expect(stderr).to.include('was refused: Objects are nested deeper than 32 levels.');
    expect(desk.service.calls.length - before).to.be.at.most(20);
  });

  it('never let a file without any value end with 0', async () => {
    await writeFile(desk.file('leads.csv'), 'n,crm_id\n,\n,\n');
    const { exitCode, stderr } = await desk.score('leads.csv');
    expect(exitCode).to.equal(1);
    expect(stderr).to.include('leads.csv: The file has a header, but no rows with content');
  });
});

describe('refused records', () => {
  const failure = (message: string, status = 400) => ({
    code: 'bad_request',
    message,
    docsUrl: undefined,
    status,
    requestId: undefined,
    retryAfterSeconds: undefined,
  });

  it('are read from the message, whatever field names contain', () => {
    const message = `records[1]["a; records[5]: \\"b\\""]: expected a number, came an object (sent as "x. Nothing of the call"); records[4]${unknown}; and 3 more. GET /v1/models/m lists the model's fields. Nothing of the call was counted.`;
    expect(refusedRecords(failure(message), 9)).to.deep.equal({
      named: [
        {
          index: 1,
          field: 'a; records[5]: "b"',
          reason: 'a; records[5]: "b": expected a number, came an object (sent as "x. Nothing of the call")',
        },
        { index: 4, field: undefined, reason: 'expected at least one field that the model knows, came none' },
      ],
      alikeRecords: undefined,
    });
    expect(refusedRecords(failure('records[3].crm_id must have at most 255 characters.', 422), 9)).to.deep.equal({
      named: [{ index: 3, field: 'crm_id', reason: 'crm_id: must have at most 255 characters' }],
      alikeRecords: 1,
    });
  });

  it('are none in a refusal of the call itself', () => {
    for (const message of ['The body is too large.', 'records must be of type array.', 'records[12]: no such record.'])
      expect(refusedRecords(failure(message), 9), message).to.equal(undefined);
    expect(refusedRecords({ ...failure('records[0]: x.'), code: 'quota_exceeded', status: 429 }, 9)).to.equal(
      undefined,
    );
  });

  it('are remembered, so that similar records get a call of their own and bad ids none', () => {
    const memory = new RefusalMemory();
    const texts = [
      '{"n":1}',
      '{"x":1}',
      '{"n":{}}',
      '{"n":1,"crm_id":7.5}',
      '{"x":2,"crm_id":"a"}',
      '{"n":1,"crm_id":"a\\u0000"}',
    ];
    expect(memory.divide(texts).sound).to.deep.equal([0, 1, 2, 3, 4, 5]);
    memory.add({ index: 0, field: undefined, reason: 'expected at least one field that' }, '{"x":5}');
    memory.add({ index: 0, field: 'n', reason: 'n: expected a number, came an object' }, '{"n":{}}');
    memory.add({ index: 0, field: 'crm_id', reason: 'crm_id: must be of type string or integer' }, '{"crm_id":1.5}');
    const { sound, alike, badIds } = memory.divide(texts);
    expect({ sound, alike }).to.deep.equal({ sound: [0], alike: [1, 2, 4] });
    expect([...badIds]).to.deep.equal([
      [3, 'crm_id: must be of type string or integer'],
      [5, 'crm_id: contains a character that is not allowed (NUL or half of a surrogate pair)'],
    ]);
  });
});
