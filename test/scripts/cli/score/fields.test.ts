import { writeFile } from 'node:fs/promises';
import { expect } from 'chai';
import type { HttpGet } from '../../../../scripts/cli/score/calls/http-connections.js';
import { InputNames, readModelFields } from '../../../../scripts/cli/score/input/field-names.js';
import { compileKnownFields } from '../../../../shared/messages/field-slots.js';
import { eventually } from '../../../support/eventually.js';
import { csvOf, ScoreDesk } from './score-desk.js';

const model = {
  fields: [
    { field: 'n', label: 'Number' },
    { field: 'Lead Source', label: 'Lead source', aliases: ['Origin'] },
    { field: 'Total Visits', label: 'Visits' },
  ],
  recency: { field: 'Last Activity', max_age_days: 30 },
};

describe('field names in leadscore score', () => {
  let desk: ScoreDesk;

  beforeEach(async () => {
    desk = await ScoreDesk.open();
    desk.service.model = model;
  });

  afterEach(() => desk.leave());

  it('lists missing fields and unknown columns before the first call and at the end, with one GET', async () => {
    const rows = csvOf(2_500)
      .replace('n,crm_id', 'n,crm_id,Lead Src,Total-Visits')
      .replace(/(crm-\d+)/g, '$1,x,3');
    await writeFile(desk.file('leads.csv'), rows);
    const missing = 'Not in the file: "Lead Source", "Last Activity" (of 4 fields that the model knows)';
    const running = desk.startScore('leads.csv');
    let printed = '';
    running.process.stderr?.on('data', (bytes) => {
      printed += String(bytes);
    });
    const wasPrintedBeforeReply: boolean[] = [];
    desk.service.answering = async () => {
      await eventually(() => expect(printed).to.include(missing)).catch(() => undefined);
      wasPrintedBeforeReply.push(printed.includes(missing));
      return undefined;
    };
    const { stdout, stderr, exitCode } = await running.ended;
    expect(exitCode).to.equal(0);
    expect(wasPrintedBeforeReply).to.deep.equal([true, true, true]);
    expect(stderr).to.equal(`${missing}\nUnknown to the model: 1 column, "Lead Src"\n`);
    expect(stdout.replace(/\s+/g, ' '))
      .to.include(`Fields ${missing} Unknown to the model: 1 column, "Lead Src" Usage`)
      .and.not.include('crm_id');
    expect(desk.service.read).to.deep.equal(['/v1/models/mdl_a']);
  });

  it('returns the lists in the --json document and prints nothing on standard error', async () => {
    await writeFile(desk.file('leads.csv'), 'n,Id,ORIGIN,total_visits\n1,a,x,2\n2,b,x,2\n');
    const { stdout, stderr } = await desk.score('leads.csv', '--json', '--crm-id', 'Id');
    expect(stderr).to.equal('');
    expect(JSON.parse(stdout)).to.deep.include({
      with_crm_id: 2,
      fields: { known: 4, not_in_file: ['Last Activity'], not_known_to_model: [] },
    });
  });

  it('lists missing fields and unknown keys of JSONL only at the end', async () => {
    const lines = ['{"n":"1","crm_id":"a","Origin":"x"}', '{"n":"2","crm_id":"b","other":null}'];
    await writeFile(desk.file('leads.jsonl'), `${lines.join('\n')}\n`);
    const { stdout, stderr } = await desk.score('leads.jsonl', '--out', desk.file('a.jsonl'));
    expect(stderr).to.equal('');
    expect(stdout.replace(/\s+/g, ' '))
      .to.include('Not in the file: "Total Visits", "Last Activity" (of 4 fields')
      .and.include('Unknown to the model: 1 key, "other"');
    desk.service.model = { fields: [{ field: 'n' }] };
    await writeFile(desk.file('more.jsonl'), '{"n":"1","crm_id":"a","other":1}\n');
    const more = await desk.score('more.jsonl', '--out', desk.file('b.jsonl'));
    expect(more.stdout, 'no field is missing').to.match(/Fields +Unknown to the model: 1 key, "other"/);
  });

  it('prints no lists when all names match, or when the model cannot be read', async () => {
    await writeFile(desk.file('leads.csv'), 'n,crm_id,origin,Total Visits,LAST_ACTIVITY\n1,a,b,c,d\n');
    for (const answer of [model, undefined, { fields: 'none' }, { fields: [{}] }]) {
      desk.service.model = answer;
      const { stdout, stderr, exitCode } = await desk.score('leads.csv', '--restart');
      expect(exitCode).to.equal(0);
      expect(stderr).to.equal('');
      expect(stdout).to.not.include('Fields').and.not.include('Not ').and.not.include('Unknown');
    }
  });

  it('readModelFields returns undefined after its timeout and after an abort', async () => {
    const requested: string[] = [];
    const get: HttpGet = (url, { signal }) => {
      requested.push(url.href);
      return new Promise((_resolve, reject) => {
        if (signal.aborted) reject(signal.reason);
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    };
    const request = { baseUrl: 'http://x/', modelId: 'a/b', apiKey: 'k', get };
    const never = new AbortController().signal;
    expect(await readModelFields({ ...request, signal: never, timeoutMs: 20 })).to.equal(undefined);
    expect(await readModelFields({ ...request, signal: AbortSignal.abort(), timeoutMs: 600_000 })).to.equal(undefined);
    expect(requested).to.deep.equal(['http://x/v1/models/a%2Fb', 'http://x/v1/models/a%2Fb']);
  });

  it('returns no field report for JSONL that was not read to its end', () => {
    const fields = compileKnownFields({
      features: [{ type: 'number', field: 'n', label: 'n', columns: [0] }],
    });
    const names = new InputNames('jsonl', fields);
    names.add(['other']);
    expect([names.notices(), names.report(false)]).to.deep.equal([[], undefined]);
    expect(names.report(true)).to.deep.equal({ known: 1, notInFile: ['n'], unknown: ['other'] });
  });

  it('exits with 130 and leaves no files when stopped before the first call', async () => {
    await desk.writeRows('leads.csv', 5);
    desk.service.reading = () => {
      running.process.kill('SIGINT');
      return new Promise(() => undefined);
    };
    const running = desk.startScore('leads.csv');
    const { exitCode, stdout } = await running.ended;
    expect(exitCode).to.equal(130);
    expect(stdout).to.include('Stopped before any record was scored.').and.not.include('Results');
    expect(await desk.files()).to.deep.equal(['leads.csv']);
  });

  it('names a missing field, although the column of a field that differs by case alone is there', async () => {
    desk.service.model = { fields: [{ field: 'Stage' }, { field: 'stage' }] };
    await writeFile(desk.file('leads.csv'), 'stage,crm_id\n1,L1\n');
    expect((await desk.score('leads.csv')).stderr).to.include(
      'Not in the file: "Stage" (of 2 fields that the model knows)',
    );
  });

  it('shortens long lists and names, and escapes control characters of names', async () => {
    const fields = Array.from({ length: 15 }, (_, index) => ({ field: `field ${index}` }));
    desk.service.model = { fields };
    const names = ['field 14', '"a\u001b[31m\nb"', 'x'.repeat(90), 'c', 'd', 'e', 'f'];
    await writeFile(desk.file('leads.csv'), `${names.join(',')},crm_id\n1,2,3,4,5,6,7,8\n`);
    const { stderr } = await desk.score('leads.csv');
    expect(stderr)
      .to.include('"field 11" and 2 more (of 15 fields that the model knows)')
      .and.include(`6 columns, "a\\u001b[31m\\nb", "${'x'.repeat(59)}…", "c", "d", "e" and 1 more`);
  });

  it('warns about records without a crm_id and names the option for the column', async () => {
    await writeFile(desk.file('leads.csv'), 'n,Lead ID\n1,a\n2,b\n');
    const without = await desk.score('leads.csv');
    const advice =
      'Their scores cannot be looked up later and cannot be graded. Name the column that identifies a lead, such as --crm-id "Lead ID"';
    expect(without.stderr).to.include(`Records have no crm_id. ${advice}`);
    expect(without.stdout.replace(/\s+/g, ' ')).to.include(`crm_id No record has one. ${advice}`);
    await writeFile(desk.file('some.csv'), 'n,crm_id\n1,a\n2,\n');
    const some = await desk.score('some.csv');
    expect(some.stderr).to.not.include('crm_id');
    expect(some.stdout.replace(/\s+/g, ' ')).to.include(
      'crm_id 1 of 2 records have none. Their scores cannot be looked up later and cannot be graded',
    );
    const { with_crm_id } = JSON.parse((await desk.score('some.csv', '--json', '--restart')).stdout);
    expect(with_crm_id).to.equal(1);
  });
});
