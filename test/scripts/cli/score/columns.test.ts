import { readFile, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { CsvRows } from '../../../../shared/files/csv-rows.js';
import { ScoreDesk } from './score-desk.js';

const added = 'score,conversion_likelihood,enriched,previous_score,delta,warnings,error';

describe('columns of the file in the output of leadscore score', () => {
  let desk: ScoreDesk;

  beforeEach(async () => {
    desk = await ScoreDesk.open();
  });

  afterEach(() => desk.leave());

  const scored = async (name: string, content: string | Buffer, ...more: string[]) => {
    await writeFile(desk.file(name), content);
    const { exitCode, stderr } = await desk.score(name, '--restart', ...more);
    expect(exitCode, stderr).to.equal(0);
    return { stderr, text: await readFile(desk.file('leads.scored.csv'), 'utf8') };
  };

  it('has all columns in their order, then the scores, also columns that are not sent', async () => {
    const file = 'Company,n,,crm_id,Id\n"Ad""a, Inc",1,x,old,A\n =1+1 ,2,,,"two\r\nlines"\n007,3,,, 1.50\n';
    const { text } = await scored('leads.csv', file, '--crm-id', 'Id');
    expect(text).to.equal(
      [
        `Company,n,,crm_id,Id,${added}`,
        '"Ad""a, Inc",1,x,old,A,1,0.25,true,0,1,,',
        ' =1+1 ,2,,,"two\r\nlines",2,0.25,true,0,1,,',
        '007,3,,, 1.50,3,0.25,true,0,1,,',
        '',
      ].join('\n'),
    );
  });

  it('keeps byte order mark and delimiter of the file, and writes commas for tabs', async () => {
    const mark = '\uFEFF';
    const semicolons = `${mark}n;Umsatz\r\n1;0,25\r\n2;"a;b"\r\n`;
    const expected = `${mark}n;Umsatz;${added.replaceAll(',', ';')}\n1;0,25;1;0.25;false;;;;\n2;"a;b";2;0.25;false;;;;\n`;
    expect((await scored('leads.csv', semicolons)).text).to.equal(expected);
    expect((await scored('leads.csv.gz', gzipSync(semicolons))).text).to.equal(expected);
    const tabs = await scored('leads.tsv', 'n\tName\n1\ta,b\n');
    expect(tabs.text).to.equal(`n,Name,${added}\n1,"a,b",1,0.25,false,,,,\n`);
  });

  it('fills short rows and leaves out empty rows', async () => {
    const { text } = await scored('leads.csv', 'n,a,,\n1,x\n,,,\n\n2,y,,\n');
    expect(text).to.equal(`n,a,,,${added}\n1,x,,,1,0.25,false,,,,\n2,y,,,2,0.25,false,,,,\n`);
  });

  it('cuts off empty cells beyond the header, if each row has as many', async () => {
    const { text } = await scored('leads.csv', 'n,a\n1,x,,\n,,,\n\n2,y,,\n');
    expect(text).to.equal(`n,a,${added}\n1,x,1,0.25,false,,,,\n2,y,2,0.25,false,,,,\n`);
  });

  it('names the added columns leadscore_ in a file that was scored before, and says so', async () => {
    const first = await scored('leads.csv', 'n,crm_id\n1,a\n');
    expect(first.stderr).to.not.include('leadscore_');
    const second = await scored('leads.csv', first.text, '--explain');
    expect(second.stderr).to.include('The file has columns of scores already. The new ones begin with leadscore_');
    const [header = '', row] = second.text.split('\n');
    expect(header).to.match(
      new RegExp(
        `^n,crm_id,${added},leadscore_score,.*,leadscore_warnings,leadscore_top_reason_1,.*_3,leadscore_error$`,
      ),
    );
    expect(row).to.match(/^1,a,1,0\.25,true,0,1,,,1,0\.25,true,0,1,,"Size is 5/);
    const clash = await scored('leads.csv', 'n,Score \n1,9\n');
    expect(clash.text).to.match(/^n,Score ,leadscore_score,leadscore_conversion_likelihood,/);
    expect(clash.text).to.include('\n1,9,1,0.25,');
  });

  it('has the same bytes after an interruption as without one', async () => {
    const names = Array.from({ length: 1_800 }, (_, index) => `${index + 1};"ü; ""${index}""\r\n";${index % 7};`);
    const file = `\uFEFFn;crm_id;Übrig;\r\n${names.join('\r\n')}\r\n`;
    const { text } = await scored('leads.csv', file);
    desk.service.answering = (call) => (call.number === 3 ? { status: 402, code: 'expired_read_only' } : undefined);
    expect((await desk.score('leads.csv', '--restart')).exitCode).to.equal(1);
    await writeFile(desk.file('leads.scored.csv'), '1001;"ü', { flag: 'a' });
    desk.service.answering = () => undefined;
    const resumed = await desk.score('leads.csv');
    expect(resumed.stderr).to.include('Resuming after row 1,000');
    expect(await readFile(desk.file('leads.scored.csv'), 'utf8')).to.equal(text);
    const rows = new CsvRows(text, { delimiter: ';', maxCells: 11, firstLine: 1 });
    let count = 0;
    for (; rows.next(); count += 1) expect(rows.count).to.equal(11);
    expect(count).to.equal(1_801);
  });

  it('writes a changed delimiter and changed unsent cells when it resumes, and sends no row again', async () => {
    const rows = Array.from({ length: 1_500 }, (_, index) => `${index + 1},x`);
    const fileOf = (first: string): string => `n,\n${[first, ...rows.slice(1)].join('\n')}\n`;
    desk.service.answering = (call) => (call.records.length < 1_000 ? { status: 402, code: 'no' } : undefined);
    for (const changed of [fileOf('1,x').replaceAll(',', ';'), fileOf('1,y')]) {
      await writeFile(desk.file('leads.csv'), fileOf('1,x'));
      expect((await desk.score('leads.csv', '--restart')).exitCode).to.equal(1);
      const { used } = desk.service;
      await writeFile(desk.file('leads.csv'), changed);
      const resumed = await desk.score('leads.csv');
      expect(resumed.stderr).to.include('The file has changed after row 0. 1,000 results of earlier runs');
      expect(desk.service.used).to.equal(used);
      const delimiter = changed[1] ?? '';
      const lines = changed.split('\n').slice(1, 1_001);
      const cells = lines.map((line, index) => [line, (index + 1) % 101, 0.25, false, '', '', '', ''].join(delimiter));
      const header = `n${delimiter}${delimiter}${added.replaceAll(',', delimiter)}`;
      const text = await readFile(desk.file('leads.scored.csv'), 'utf8');
      expect(text).to.equal(`${[header, ...cells].join('\n')}\n`);
    }
    const other = await desk.score('leads.csv', '--only-scores');
    expect(other.stderr).to.include('was started with another --only-scores (false)');
  });

  it('writes the header again when a run without a row resumes with another one', async () => {
    await desk.writeRows('leads.csv', 5);
    const { process: child, ended } = desk.startScore('leads.csv');
    desk.service.answering = () => {
      child.kill('SIGKILL');
      return 'hang up';
    };
    await ended;
    desk.service.answering = () => undefined;
    await writeFile(desk.file('leads.csv'), 'n,Account\n1,Acme\n');
    expect((await desk.score('leads.csv')).exitCode).to.equal(0);
    expect(await readFile(desk.file('leads.scored.csv'), 'utf8')).to.equal(
      `n,Account,${added}\n1,Acme,1,0.25,false,,,,\n`,
    );
  });
});
