import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { runningService } from '../../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../../support/service/workspace.js';
import { type CliResult, callCli } from '../cli-call.js';

describe('leadscore score with the real service', () => {
  let own: TestWorkspace;
  let directory: string;

  before(async function () {
    this.timeout(60_000);
    own = await workspace(await runningService());
    directory = await mkdtemp(join(tmpdir(), 'leadscore-score-'));
  });

  after(() => rm(directory, { recursive: true, force: true }));

  const score = (name: string, ...more: string[]): Promise<CliResult> => {
    const to = ['--url', own.service.url(), '--model', own.model._id, '--key', own.live.secret];
    return callCli(['score', join(directory, name), ...to, ...more]);
  };

  it('scores and counts every record once, and a restarted run finds all previous scores', async () => {
    const rows = Array.from({ length: 2_500 }, (_, index) => `lead-${index},${index % 300},${index % 2 ? 'yes' : ''}`);
    await writeFile(join(directory, 'leads.csv'), `crm_id,company_size,demo_requested\n${rows.join('\n')}\n`);
    const first = await score('leads.csv', '--json');
    expect(first.exitCode, first.stderr).to.equal(0);
    expect(JSON.parse(first.stdout)).to.deep.include({
      records: 2_500,
      enriched: 0,
      with_crm_id: 2_500,
      fields: { known: 3, not_in_file: ['lead_source'], not_known_to_model: [] },
    });
    expect(await own.ledgerSum()).to.equal(2_500);

    const again = JSON.parse((await score('leads.csv', '--restart', '--json')).stdout);
    expect(again).to.deep.include({ records: 2_500, enriched: 2_500 });
    expect(again.usage).to.include({ current: 5_000, remaining: 5_000 });
    const lines = (await readFile(join(directory, 'leads.scored.csv'), 'utf8')).trimEnd().split('\n').slice(1);
    for (const [index, line] of lines.entries()) {
      const [crmId, size, demo, scored, , enriched, previous, delta] = line.split(',');
      expect([crmId, size, demo, enriched, previous, delta]).to.deep.equal([
        `lead-${index}`,
        `${index % 300}`,
        index % 2 ? 'yes' : '',
        'true',
        scored,
        '0',
      ]);
    }
  });

  it('ends with the values and names that the model does not know, over all calls', async () => {
    const rows = Array.from({ length: 1_500 }, (_, index) => `${index % 3 ? 5 : 'lots'},Fax,yes`);
    await writeFile(join(directory, 'told.csv'), `company_size,lead_source,demo_requestd\n${rows.join('\n')}\n`);
    const { exitCode, stdout, stderr } = await score('told.csv');
    expect(exitCode, stderr).to.equal(0);
    expect(stdout)
      .to.match(/^lead_source +100 % +1,500 +Fax$/m)
      .and.match(/^company_size +100 % +500 +lots +expected a number$/m)
      .and.match(/^demo_requestd: did you mean demo_requested\?$/m);
    const { input_summary } = JSON.parse((await score('told.csv', '--restart', '--json')).stdout);
    expect(input_summary).to.deep.include({ records: 1_500 });
    expect(input_summary.ignored).to.deep.equal([
      { name: 'demo_requestd', records: 1_500, did_you_mean: 'demo_requested' },
    ]);
  });

  it('writes the reason, row and line of records that cannot be featurized, and counts only the others', async () => {
    const before = await own.ledgerSum();
    const longId = 'x'.repeat(300);
    const lines = [
      '{"company_size":5}',
      '',
      '{"company_size":{"from":1}}',
      '{"other":1}',
      `{"company_size":5,"crm_id":"${longId}"}`,
      '{"company_size":5,"crm_id":7}',
    ];
    await writeFile(join(directory, 'bad.jsonl'), `${lines.join('\n')}\n`);
    const { exitCode, stdout } = await score('bad.jsonl', '--out', join(directory, 'bad.out.jsonl'), '--json');
    expect(exitCode).to.equal(0);
    const { problems, records } = JSON.parse(stdout);
    expect(records).to.equal(2);
    expect(problems).to.deep.equal([
      'bad.jsonl, line 3: company_size: expected a number, came an object',
      'bad.jsonl, line 4: expected at least one field that the model knows, came none',
      'bad.jsonl, line 5: The crm_id must have at most 255 characters',
    ]);
    expect(await own.ledgerSum()).to.equal(before + 2);
  });

  it('counts each row once when a file with a bad row is corrected and edited between runs', async () => {
    const before = await own.ledgerSum();
    const rows = Array.from({ length: 6_000 }, (_, index) => `${index % 300},${index}`);
    const write = (lines: readonly string[]) =>
      writeFile(join(directory, 'edited.csv'), `company_size,Note\n${lines.join('\n')}\n`);
    await write(rows.with(1_499, ',1499'));
    const first = await score('edited.csv', '--json');
    expect(first.exitCode, first.stderr).to.equal(0);
    expect(JSON.parse(first.stdout)).to.include({ records: 5_999, rows_without_score: 1 });
    const edited = rows.with(1_499, '7,1499').toSpliced(9, 1).toSpliced(3_000, 0, '8,new');
    await write(edited);
    const second = await score('edited.csv', '--json');
    expect(JSON.parse(second.stdout)).to.include({ records: 6_000, rows_without_score: 0 });
    expect((await own.ledgerSum()) - before).to.equal(6_001);
    const lines = (await readFile(join(directory, 'edited.scored.csv'), 'utf8')).trimEnd().split('\n').slice(1);
    expect(lines.map((line) => line.split(',').slice(0, 2).join())).to.deep.equal(edited);
  });
});
