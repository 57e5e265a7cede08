import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { leadsCsv } from '../../../../scripts/leads/lead-record.js';
import { pastColumns, pastLeads } from '../../../../scripts/leads/past-leads.js';
import { projectFile } from '../../../../shared/process/project-root.js';
import { eventually } from '../../../support/eventually.js';
import { scored } from '../../../support/http/score-reply.js';
import { leaveOut } from '../../../support/leave-out.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../../support/service/service.js';
import { workspace } from '../../../support/service/workspace.js';
import { callCli, cliDocument, settingsOf, startCli } from '../cli-call.js';
import { installLimitMs, keepingPython, realPython, trainingLimitMs } from './real-python.js';

/** See keep_model.py. */
interface KeptRows {
  readonly records: readonly Readonly<Record<string, string>>[];
  readonly raw: readonly number[];
  readonly likelihoods: readonly number[];
}

/** Half of the last decimal, and what a difference of 1e-6 in `raw` may add. */
const fourDecimals = 0.00005 + 0.000005;

/** Public tables, and the options of their training. */
const realTables = {
  'salvirt-b2b': ['--converted', 'Status'],
  'x-education-leads': ['--converted', 'Converted', '--skip', 'Tags', '--skip', 'Lead Quality', '--missing', 'Select'],
  'bank-full': ['--converted', 'y', '--skip', 'duration'],
};

describe('leadscore train FILE, with Python', () => {
  let python: string;
  let service: RunningService;
  let folder: string;

  before(async function () {
    this.timeout(installLimitMs + startTimeoutMs);
    python = await realPython(this);
    service = await sharedService('default');
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'leadscore-csv-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** Trains on a file, imports the model, and compares 300 rows of the file over HTTP with the classifier in Python. */
  async function expectServedAsTrained(file: string, words: readonly string[]): Promise<void> {
    const own = await workspace(service);
    const out = join(folder, 'model');
    const trained = ['train', file, ...words, '--out', out, '--org', own.id, '--budget', '10'];
    const named = ['--python', await keepingPython(python, folder)];
    const document = await cliDocument([...trained, ...named], await settingsOf(service));
    const { records, raw, likelihoods }: KeptRows = JSON.parse(await readFile(join(folder, 'rows.json'), 'utf8'));
    expect(records).to.have.length(300);
    expect(new Set(raw).size).to.be.above(100);

    const { model_version: version, scores } = scored(await own.score(records, { modelId: String(document.model_id) }));
    expect(version).to.equal((document.training as { readonly version: string }).version);
    for (const [row, { conversion_likelihood: likelihood }] of scores.entries())
      expect(likelihood, `row ${row}`).to.be.closeTo(likelihoods[row] ?? Number.NaN, fourDecimals);

    const { exitCode, stdout } = await callCli(['model', 'check', join(folder, 'checked'), '--json']);
    expect(exitCode, stdout).to.equal(0);
    const [checked] = JSON.parse(stdout).bundles;
    expect(checked.golden).to.include({ records: 300 });
    expect(checked.golden.largest_raw_difference).to.be.below(1e-6);
  }

  it('serves 300 raw rows of a made-up table with the calibrated probabilities of the classifier', async function () {
    this.timeout(trainingLimitMs);
    const file = join(folder, 'past-leads.csv');
    await writeFile(file, leadsCsv(pastLeads({ seed: 4, count: 1_500, now: new Date() })));
    await expectServedAsTrained(file, ['--converted', pastColumns.won]);
  });

  for (const [table, words] of Object.entries(realTables))
    it(`does the same for the real leads of ${table}`, async function () {
      this.timeout(trainingLimitMs);
      const file = projectFile(`../shared/data/${table}.csv.gz`);
      if (!existsSync(file)) leaveOut(this, `../shared/data has no leads of ${table}`, `put ${table}.csv.gz there`);
      await expectServedAsTrained(file, words);
    });

  it("leaves out a field that knows the outcome, unless a person's word keeps it", async function () {
    this.timeout(2 * trainingLimitMs);
    const file = join(folder, 'leads.csv');
    const past = pastLeads({ seed: 5, count: 1_000, now: new Date() });
    const reasonOf = (row: number): string => (row % 2 === 0 ? 'price' : 'no answer');
    const leaking = past.map((lead, row) => {
      const reason = lead[pastColumns.won] === 'no' ? reasonOf(row) : null;
      return { ...lead, 'Close Reason': reason };
    });
    await writeFile(file, leadsCsv(leaking));
    const words = ['train', file, '--converted', pastColumns.won, '--out', join(folder, 'model'), '--budget', '1'];
    const unasked = await callCli([...words, '--json']);
    expect([unasked.exitCode, unasked.stdout]).to.deep.equal([1, '']);
    const { error } = JSON.parse(unasked.stderr);
    expect(error.code).to.equal('leak_unconfirmed');
    expect(error.fields.map(({ field }: { readonly field: string }) => field)).to.deep.equal(['Close Reason']);
    expect(await readdir(folder)).to.deep.equal(['leads.csv']);

    const asked = await callCli(words, {}, 'n\n');
    expect(asked.exitCode, asked.stderr).to.equal(0);
    expect(asked.stderr).to.include('Was Close Reason known when the lead was scored? [y/N]');
    const training = JSON.parse(await readFile(join(folder, 'model/training.json'), 'utf8'));
    expect(training.left_out).to.have.property('Close Reason');
    expect(await readFile(join(folder, 'model/bundle/manifest.json'), 'utf8')).to.not.include('Close Reason');
  });

  it('leaves nothing after Ctrl-C', async function () {
    this.timeout(trainingLimitMs);
    const file = join(folder, 'leads.csv');
    await writeFile(file, leadsCsv(pastLeads({ seed: 6, count: 1_000, now: new Date() })));
    const cli = startCli(['train', file, '--converted', pastColumns.won, '--out', join(folder, 'model')]);
    // The folder in which the training collects its files.
    await eventually(async () => expect(await readdir(folder)).to.have.length(2), trainingLimitMs);
    cli.process.kill('SIGINT');
    const { exitCode, stdout, stderr } = await cli.ended;
    expect([exitCode, stdout], stderr).to.deep.equal([130, '']);
    expect(await readdir(folder)).to.deep.equal(['leads.csv']);
  });
});
