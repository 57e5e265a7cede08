import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import type { StoredOutcome } from '../../../shared/store/validation/outcomes.js';
import { httpCall } from '../../support/http/http-call.js';
import { refused } from '../../support/http/score-reply.js';
import type { RunningService } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace, workspace } from '../../support/service/workspace.js';
import type { UsableKey } from '../../support/service/workspace-parts.js';
import { itInFull } from '../../support/tier.js';

const csv = { 'content-type': 'text/csv' };

describe('POST /v1/outcomes with a file', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  });

  interface Sent {
    readonly key?: UsableKey;
    readonly query?: string;
    readonly headers?: Readonly<Record<string, string>>;
  }
  const post = async (body: string | Buffer, { key = own.live, query = '', headers = csv }: Sent = {}) => {
    const authorization = `Bearer ${key.secret}`;
    const url = `${service.url()}/v1/outcomes${query}`;
    const response = await fetch(url, { method: 'POST', headers: { authorization, ...headers }, body });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const imported = async (body: string | Buffer, sent: Sent = {}) => {
    const reply = await post(body, sent);
    expect(reply.status, reply.text).to.equal(200);
    return JSON.parse(reply.text);
  };
  const stored = async (of = own) => {
    const found = service.stores.database.collection<StoredOutcome>('outcomes').find({ org: of.id });
    return (await found.sort({ crm_id: 1 }).toArray()).map(({ crm_id, converted, at }) => [
      crm_id,
      converted,
      at.toISOString().slice(0, 10),
    ]);
  };

  it('stores the rows that can be read, and reports the others with their lines', async () => {
    await own.score([{ company_size: 5, crm_id: 'L2' }]);
    const rows = ['L1,1,2026-03-01', 'L2,no,', ',1,2026-03-01', 'L4,maybe,', 'L5,1,soon', 'L6,perhaps,', 'L1,0,'];
    const text = `crm_id,converted,at\n${rows.join('\n')}\n`;
    const words =
      'must be yes (1, true, yes, y, t, on, won, converted) or no (0, false, no, n, f, off, lost, open), or a value of won_values or lost_values';
    const { problems, notes, ...counts } = await imported(text);
    expect(counts).to.deep.equal({
      ...{ accepted: 3, rows: 7, converted: 1, refused: 4, known: 1, unknown: 1, repeated: 1 },
      ...{ unknown_example: 'L1', scored_example: 'L2' },
    });
    expect(problems).to.have.deep.members([
      { problem: '"crm_id" is empty', rows: 1, first: [{ line: 4 }], values: [] },
      {
        problem: `"converted" ${words}`,
        rows: 2,
        first: [
          { line: 5, value: 'maybe' },
          { line: 7, value: 'perhaps' },
        ],
        values: ['maybe', 'perhaps'],
      },
      {
        problem: '"at" must be a date such as 2026-11-21 or 2026-11-21T14:05:00Z',
        rows: 1,
        first: [{ line: 6, value: 'soon' }],
        values: ['soon'],
      },
    ]);
    expect(notes).to.deep.equal([
      '1 row has a crm_id that an earlier row has, such as "L1" in line 8. The last row of a lead counts, but of several conversions the earliest',
    ]);
    const found = await stored();
    expect(found.map(([crmId, converted]) => [crmId, converted])).to.deep.equal([
      ['L1', false],
      ['L2', false],
    ]);
    const before = await stored();
    expect(await imported(text), 'again').to.include({ accepted: 3, refused: 4 });
    expect(await stored()).to.deep.equal(before);
    const elsewhere = await workspace(service);
    const other = await imported('crm_id,converted\nL2,1\n', { key: elsewhere.live });
    expect(other, 'of another organisation')
      .to.include({ known: 0, unknown: 1 })
      .and.not.have.property('scored_example');
    expect(await stored()).to.deep.equal(before);
  });

  it('takes the options of outcomes import from the address', async () => {
    const text = 'Id;Stage;Closed\nL1;Closed Won;2026-03-01\nL2;"Deal, won";2026-03-02\nL3;Nurture;\nL4;;\n';
    const columns = 'crm_id=Id&converted=Stage&at=Closed';
    const won = `won_values=${encodeURIComponent('Closed Won,"Deal, won",Signed')}`;
    const first = await imported(text, { query: `?${columns}&${won}&lost_values=Nurture` });
    expect(first).to.deep.include({ accepted: 3, converted: 2, refused: 1 });
    expect(first.notes).to.deep.equal(['No imported row has the value "Signed" of won_values']);
    const all = await imported(text, { query: `?${columns}&${won}&others_lost=1` });
    expect(all).to.deep.include({ accepted: 3, converted: 2, refused: 1 });
    const later = 'crm_id,converted,at\nL1,1,2026-04-09\n';
    await imported(later);
    expect((await stored())[0]).to.deep.equal(['L1', true, '2026-03-01']);
    await imported(later, { query: '?correct_dates=true' });
    expect((await stored())[0]).to.deep.equal(['L1', true, '2026-04-09']);
  });

  it('reads gzip, with and without Content-Encoding, UTF-16 and windows-1252', async () => {
    const text = 'crm_id,converted\nÄ1,1\n';
    await imported(gzipSync(text), { headers: { ...csv, 'content-encoding': 'gzip' } });
    await imported(gzipSync(text.replace('Ä1', 'Ä2')));
    await imported(Buffer.from(`\uFEFF${text.replace('Ä1', 'Ä3')}`, 'utf16le'));
    await imported(Buffer.from(text.replace('Ä1', 'Ä4'), 'latin1'), {
      headers: { 'content-type': 'text/csv; charset=windows-1252' },
    });
    expect((await stored()).map(([crmId]) => crmId)).to.deep.equal(['Ä1', 'Ä2', 'Ä3', 'Ä4']);
  });

  const numbered = (count: number): string =>
    `crm_id,converted\n${Array.from({ length: count }, (_, index) => `L${index},${index % 2}\n`).join('')}`;

  it('refuses more than 50,000 rows, blank ones included, before it stores any', async () => {
    refused(await post(numbered(50_001)), '422 bad_request');
    const blank = refused(await post(`crm_id,converted\nL1,1\n${',\n'.repeat(50_000)}`), '422 bad_request');
    expect(blank.error.message).to.equal('The file has more than 50,000 rows. Cut it.');
    expect(await stored()).to.deep.equal([]);
  });

  itInFull('stores 50,000 rows in a call', async function () {
    this.timeout(90_000);
    await own.change({ plan: 'enterprise' });
    const figures = { accepted: 50_000, converted: 25_000, refused: 0, known: 0, unknown: 50_000, repeated: 0 };
    expect(await imported(numbered(50_000))).to.include(figures);
    const outcomes = service.stores.database.collection('outcomes');
    expect(await outcomes.countDocuments({ org: own.id })).to.equal(50_000);
    expect(await outcomes.countDocuments({ org: own.id, converted: true })).to.equal(25_000);
  });

  it('stores nothing of a file that passes the limit of the plan, and nothing for a test key', async () => {
    await own.change({ plan: 'free' });
    const over = refused(await post(numbered(10_001)), '400 bad_request');
    expect(over.error.message).to.include('may have outcomes of 10000 leads');
    expect(await stored()).to.deep.equal([]);
    const tested = await imported('crm_id,converted\nL1,1\nL2,x\n', { key: own.test });
    expect(tested).to.include({ accepted: 1, refused: 1, test: true }).and.to.not.have.any.keys('known', 'unknown');
    expect(await stored()).to.deep.equal([]);
  });

  it('refuses a file that cannot be read, unknown options and other content types', async () => {
    const cases: readonly [string, Sent, string][] = [
      ['', {}, 'it is empty'],
      ['Lead,Won\nL1,1\n', {}, 'no column "crm_id". Name the column with crm_id. Its columns: "Lead", "Won"'],
      ['crm_id,converted\nL1,"1\n', {}, 'The quote in line 2, column 4 is not closed'],
      ['{"crm_id": "L1"}', {}, 'Outcomes are read from a CSV alone'],
      [
        'crm_id,converted\nL1,1\n',
        { query: '?convertd=Won' },
        '"convertd" is no option of a file of outcomes: crm_id,',
      ],
      ['crm_id,converted\nL1,1\n', { query: '?others_lost=1' }, 'others_lost needs won_values'],
      ['crm_id,converted\nL1,1\n', { query: '?correct_dates=maybe' }, 'correct_dates must be true or false'],
      ['crm_id,converted\nL1,1\n', { query: '?won_values=a&lost_values=A' }, '"A" means won and not won'],
      [
        'crm_id,converted\nL1,1\n',
        { headers: { 'content-type': 'text/plain' } },
        'A file of outcomes is sent as text/csv.',
      ],
    ];
    for (const [body, sent, says] of cases)
      expect(refused(await post(body, sent), '422 bad_request').error.message, body).to.include(says);
    expect(await stored()).to.deep.equal([]);
    const unknown = await httpCall(`${service.url()}/v1/outcomes`, { headers: csv, body: 'crm_id,converted\nL1,1\n' });
    refused(unknown, '401 invalid_api_key');
  });
});
