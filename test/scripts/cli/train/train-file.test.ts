import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from '../../../support/eventually.js';
import { callCli, startCli } from '../cli-call.js';
import { type OperatorDesk, operatorDesk } from '../operator-desk.js';
import { type PlayedStep, StandInPython } from './stand-in-python.js';

const progress = (text: string, share: number): PlayedStep => ({
  say: { progress: { step: 'search', text, share, seconds_left: 31 } },
});

const training = {
  ...{ name: 'Lead conversion', version: '2026.11.29-0a1b2c3d', conversion_rate: 0.385, top_lift: 2.31 },
  rows: { leads: 9240, held_out: 1848 },
  left_out: { 'Lead Number': 'an identifier' },
  auc: { held_out: { value: 0.889, low: 0.874, high: 0.903 } },
};

const done = (bundle = 'model/bundle'): PlayedStep => ({
  say: { done: { folder: 'model', bundle, report: 'model/report.html', training } },
});

const fields = [
  { field: 'Tags', auc: 0.92, r2: 0.6, filled_won: 0.9, filled_lost: 0.4, suspect: 'it ranks leads alone' },
  { field: 'Source', auc: 0.61, r2: 0.05, filled_won: 1, filled_lost: 1, suspect: null },
];
const question: PlayedStep = { say: { ask: { about: 'Tags', question: 'Was Tags known when the lead was scored?' } } };

describe('leadscore train FILE', () => {
  let python: StandInPython;
  let desk: OperatorDesk;
  let files = 0;
  before(async () => {
    python = await StandInPython.create();
    desk = await operatorDesk();
  });
  after(async () => {
    await python.remove();
    await desk.leave();
  });

  const fileOf = (...steps: readonly PlayedStep[]) => {
    files += 1;
    return python.file(`leads-${files}.csv`, steps);
  };
  const words = (file: string, ...more: readonly string[]) => [
    ...['train', file, '--converted', 'Won', '--python', python.path],
    ...more,
  ];
  const failureOf = async (file: string, ...more: readonly string[]) => {
    const { exitCode, stdout, stderr } = await callCli(words(file, ...more, '--json'), desk.settings);
    expect(stdout).to.equal('');
    return { exitCode, ...JSON.parse(stderr).error };
  };

  it('hands its options to the training, shows the fields and notes, and prints the result', async () => {
    const file = await fileOf(
      progress('reading leads.csv', 0.01),
      { raw: '[LightGBM] a line of a library' },
      { say: { note: 'leads.csv has 12 rows without an outcome' } },
      { say: { fields } },
      progress('trying 16 leaves', 0.42),
      done(),
    );
    const { exitCode, stdout, stderr } = await callCli(
      words(
        file,
        ...['--won-values', 'Closed Won,Won', '--others-lost', '--at', 'Created', '--horizon', '30'],
        ...['--skip', '-Tags', '--skip', 'Lead Number', '--missing', 'Select,?', '--budget', '5', '--replace'],
      ),
    );
    expect(exitCode, stderr).to.equal(0);
    const { words: given, pythonPath } = await python.runOf(file);
    expect(given).to.deep.equal([
      file,
      ...['--converted=Won', '--won-values=Closed Won,Won', '--others-lost', '--at=Created', '--horizon=30'],
      ...['--skip=-Tags', '--skip=Lead Number', '--missing=Select,?', '--budget=5', '--replace', '--json-lines'],
    ]);
    expect(pythonPath).to.match(/scripts\/export$/);
    expect(stderr)
      .to.include('Note: leads.csv has 12 rows')
      .and.match(/Tags +0\.92 +0\.60 +90 % +40 % +it ranks leads alone/);
    expect(stdout)
      .to.match(/Held out +1,848 leads: AUC 0\.889 \(0\.874 to 0\.903\)/)
      .and.match(/Leads +9,240, 38\.5 % of them converted/)
      .and.match(/Left out +Lead Number: an identifier/)
      .and.include('Import it: npx leadscore model import model/bundle --org ORG');
  });

  it('prints training.json and the paths with --json, and nothing else', async () => {
    const { exitCode, stdout, stderr } = await callCli(
      words(await fileOf(progress('reading', 0.1), { say: { fields } }, done()), '--json'),
    );
    expect([exitCode, stderr]).to.deep.equal([0, '']);
    expect(JSON.parse(stdout)).to.deep.equal({
      ...{ folder: 'model', bundle: 'model/bundle', report: 'model/report.html', training },
    });
  });

  it('asks about suspects in a terminal, and gives the answers to the training', async () => {
    for (const [typed, answer] of [
      ['y\n', 'y'],
      ['\n', 'n'],
    ] as const) {
      const file = await fileOf({ say: { fields } }, question, { reads: true }, done());
      const { exitCode, stderr } = await callCli(words(file), {}, typed);
      expect(exitCode, stderr).to.equal(0);
      expect(stderr).to.include('Was Tags known when the lead was scored? [y/N]');
      const run = await python.runOf(file);
      expect(run.answers).to.deep.equal([answer]);
      expect(run.words).to.include('--ask');
    }
    const decided = await fileOf(done());
    await callCli(words(decided, '--yes'), {}, '');
    expect((await python.runOf(decided)).words)
      .to.include('--yes')
      .and.not.include('--ask');
  });

  it('fails with the code, the message and the exit code of the training', async () => {
    const context = { fields: ['Tags'], confirm: ['--keep', 'Tags'] };
    const leak = { code: 'leak_unconfirmed', message: 'Tags was perhaps not known', context };
    expect(await failureOf(await fileOf({ say: { error: leak } }, { exits: 1 }))).to.deep.equal({
      ...{ exitCode: 1, code: 'leak_unconfirmed', message: 'Tags was perhaps not known', ...context },
    });
    const usage = { error: { code: 'usage', message: 'argument --budget: no number' } };
    const failed = await failureOf(await fileOf({ say: usage }, { exits: 2 }));
    expect(failed).to.include({ exitCode: 2, message: 'Argument --budget: no number' });
  });

  it('names the packages that an interpreter lacks, and the end of one that says nothing', async () => {
    const lacks = { stderr: "ModuleNotFoundError: No module named 'lightgbm'" };
    const missing = await failureOf(await fileOf(lacks, { exits: 1 }));
    expect(missing).to.include({ code: 'no_packages' });
    expect(missing.message).to.include('has no package lightgbm').and.include('requirements-train.txt');
    const silent = await failureOf(await fileOf(progress('reading', 0.1), { stderr: 'MemoryError' }, { exits: 3 }));
    expect(silent).to.include({ code: 'failed', message: 'The training ended with exit code 3: MemoryError' });
  });

  it('refuses an interpreter that is none or too old, and arguments without a column of outcomes', async () => {
    const file = await fileOf(done());
    for (const [path, part] of [
      [join(python.folder, 'nothing'), 'no Python that runs'],
      [await python.ofVersion('3.9'), 'is Python 3.9, and a training needs 3.10'],
    ] as const) {
      const { exitCode, stderr } = await callCli(['train', file, '--converted', 'Won', '--python', path, '--json']);
      expect(exitCode).to.equal(1);
      expect(JSON.parse(stderr).error).to.include({ code: 'no_python' });
      expect(stderr).to.include(part);
    }
    for (const wrong of [['train'], ['train', file], ['train', file, '--converted', 'Won', '--budget', '0']]) {
      const { exitCode } = await callCli(wrong);
      expect(exitCode, wrong.join(' ')).to.equal(2);
    }
    expect(python.hasRun(file)).to.equal(false);
  });

  it('makes the bundle a model of the organisation, and says where it is when it cannot', async () => {
    const organisation = await desk.newOrganisation();
    const bundle = await desk.writeBundle();
    const import_ = async () =>
      await callCli(words(await fileOf(done(bundle)), '--org', organisation, '--json'), desk.settings);
    const { exitCode, stdout, stderr } = await import_();
    expect(exitCode, stderr).to.equal(0);
    const { model_id: modelId } = JSON.parse(stdout);
    const listed = await desk.document('model', 'list', organisation);
    expect(JSON.stringify(listed)).to.include(modelId);

    const again = await import_();
    expect(again.exitCode).to.equal(1);
    const { error } = JSON.parse(again.stderr);
    expect(error).to.include({ code: 'bundle_stored', bundle });
    expect(error.message).to.include(`The model is in ${bundle}, but it was not imported`);
  });

  it('looks for the organisation before it trains', async () => {
    const file = await fileOf(done());
    expect(await failureOf(file, '--org', 'org_x')).to.include({ code: 'not_found' });
    expect(python.hasRun(file)).to.equal(false);
  });

  it('ends the training on Ctrl-C, and exits with 130', async () => {
    const file = await fileOf({ hangs: true }, done());
    const { process: cli, ended } = startCli(words(file));
    await eventually(async () => expect(python.hasRun(file)).to.equal(true), 20_000);
    cli.kill('SIGINT');
    const { exitCode, stdout, stderr } = await ended;
    expect(exitCode, stderr).to.equal(130);
    expect([stdout, stderr.split('\n').at(-2)]).to.deep.equal(['', 'Error: Interrupted: nothing was written']);
  });

  it('makes no environment for an interpreter that was named', async () => {
    expect(await readdir(python.folder)).to.not.include('train');
  });
});
