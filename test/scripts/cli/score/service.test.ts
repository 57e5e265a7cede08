import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { runningService } from '../../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../../support/service/workspace.js';
import { type CliResult, runCliProcess } from '../cli-call.js';

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
    return runCliProcess(['score', join(directory, name), ...to, ...more]);
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

  it('names row and line of a record that cannot be featurized, and counts none of its call', async () => {
    const before = await own.ledgerSum();
    await writeFile(join(directory, 'bad.jsonl'), '{"company_size":5}\n\n{"company_size":{"from":1}}\n{"other":1}\n');
    const { exitCode, stderr } = await score('bad.jsonl');
    expect(exitCode).to.equal(1);
    expect(stderr)
      .to.include('Rows 1-3 were refused: row 2 (line 3), "company_size": expected a number, came an object')
      .and.include('row 3 (line 4): expected at least one field that the model knows')
      .and.include('(bad_request, status 400)');
    expect(await own.ledgerSum()).to.equal(before);
  });
});
