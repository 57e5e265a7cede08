import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { runCli } from '../../../../scripts/cli/run-cli.js';
import { checkBundle } from '../../../../shared/bundle/check-bundle.js';
import { readOperatorConfig } from '../../../../shared/config/config.js';
import type { CandidateRun } from '../../../../shared/store/models/candidate-runs.js';
import { createModel } from '../../../../shared/store/models/store-version.js';
import { sampleBundle } from '../../../support/models/sample-bundle.js';
import { type OperatorDesk, operatorDesk } from '../operator-desk.js';

describe('a version that is imported into an existing model', () => {
  let desk: OperatorDesk;
  let organisation: string;
  let model: string;
  let next: string;

  before(async () => {
    desk = await operatorDesk();
    next = await desk.writeBundle({ version: '2.0.0', name: 'Renamed' });
  });
  beforeEach(async () => {
    organisation = await desk.newOrganisation();
    const bundle = checkBundle(sampleBundle());
    const created = await createModel(desk.stores.database, { organisationId: organisation, bundle, now: new Date() });
    model = created._id;
  });
  after(() => desk.leave());

  const importNext = (...words: readonly string[]) =>
    desk.run('model', 'import', next, '--org', organisation, '--model', model, '--json', ...words);
  const imported = async (...words: readonly string[]) => {
    const { exitCode, stdout, stderr } = await importNext(...words);
    expect(exitCode, stderr).to.equal(0);
    return JSON.parse(stdout);
  };
  const refused = async (words: readonly string[]): Promise<{ code: string; message: string }> => {
    const { exitCode, stderr } = await desk.run(...words, '--json');
    expect(exitCode, stderr).to.be.above(0);
    return JSON.parse(stderr).error;
  };
  const shown = () => desk.document('model', 'show', model);
  const block = () => desk.stores.organisations.update(organisation, { policy: 'block' });
  /** Stores the second version, without the process that checks it. */
  const storeNext = () => imported('--candidate');

  it('needs --candidate or --serve without a terminal, and stores nothing without them', async () => {
    const { exitCode, stderr } = await importNext();
    expect(exitCode).to.equal(1);
    expect(JSON.parse(stderr).error.message).to.include('--candidate').and.to.include('--serve');
    expect((await shown()).versions).to.have.length(1);
  });

  it('is asked for in a terminal, where no makes it a candidate', async () => {
    for (const [answer, version] of [
      ['n', '1.0.0'],
      ['y', '2.0.0'],
    ] as const) {
      const stdin = Object.assign(new PassThrough(), { isTTY: true });
      const stderr = Object.assign(new PassThrough(), { isTTY: true });
      let asked = '';
      stderr.on('data', (bytes: Buffer) => {
        if (asked === '') stdin.write(`${answer}\n`);
        asked += bytes.toString();
      });
      const words = ['model', 'import', next, '--org', organisation, '--model', model];
      const readConfig = () => readOperatorConfig(desk.settings);
      const stdout = new PassThrough();
      stdout.resume();
      expect(await runCli(words, { stdin, stderr, stdout, readConfig }), asked).to.equal(0);
      expect(asked).to.include(`Let this version of ${model} score calls at once?`);
      expect(await shown(), answer).to.include({ version });
    }
  });

  it('scores no calls as a candidate: version, name and verdict stay', async () => {
    const before = await shown();
    const document = await imported('--candidate');
    expect(document).to.include({ version: '2.0.0', name: before.name }).and.to.not.have.property('blocked');
    expect(document.candidate).to.include({ version: '2.0.0' }).and.to.have.keys('version', 'since', 'by');
    const after = await shown();
    expect(after).to.deep.include({ version: '1.0.0', name: before.name, validation: before.validation });
    expect(after.candidate).to.deep.equal(document.candidate);
    const { stdout } = await desk.run('model', 'show', model);
    expect(stdout).to.match(/2\.0\.0 \(candidate\).*\n.*1\.0\.0 \(active\)/);
  });

  it('is refused as a candidate of a model of another organisation, and nothing is stored', async () => {
    const other = await desk.newOrganisation();
    const words = ['model', 'import', next, '--org', other, '--model', model, '--candidate'];
    const { code, message } = await refused(words);
    expect(code).to.equal('not_found');
    expect(message).to.include(`There is no model ${model}`);
    const after = await shown();
    expect(after.versions).to.have.length(1);
    expect(after).to.not.have.property('candidate');
    const stored = await desk.stores.database.collection('model_versions').countDocuments({ organisation_id: other });
    expect(stored, 'versions of the other organisation').to.equal(0);
  });

  it('is no candidate any longer once it serves', async () => {
    await storeNext();
    const served = await desk.document('model', 'set', model, '--version', '2.0.0');
    expect(served).to.include({ version: '2.0.0' }).and.to.not.have.property('candidate');
    const back = await desk.document('model', 'candidate', model, '1.0.0');
    expect(back.candidate).to.include({ version: '1.0.0' });
    expect(await imported('--serve')).to.have.property('candidate');
  });

  it('is the one candidate of its model until it is dropped', async () => {
    await storeNext();
    expect((await storeNext()).candidate, 'again').to.include({ version: '2.0.0' });
    const other = await refused(['model', 'candidate', model, '1.0.0']);
    expect(other).to.include({ code: 'conflict' });
    expect(other.message).to.include(`npx leadscore model candidate ${model} --drop`);
    const dropped = await desk.document('model', 'candidate', model, '--drop');
    expect(dropped).to.not.have.property('candidate');
    expect(dropped.versions).to.have.length(2);
    expect(await refused(['model', 'candidate', model, '--drop'])).to.include({ code: 'not_found' });
    expect((await desk.document('model', 'candidate', model, '1.0.0')).candidate).to.include({ version: '1.0.0' });
  });

  it('says in words how far its run is', async () => {
    const { candidate } = await imported('--candidate');
    expect((await shown()).candidate_run).to.include({ state: 'waiting', base: '1.0.0', total: null });
    const run: CandidateRun = {
      ...{ _id: `${model}:2.0.0`, org: organisation, model, version: '2.0.0', base: '1.0.0', state: 'running' },
      ...{ since: new Date(candidate.since), from_id: 'a', until_id: 'b', started_at: new Date() },
      ...{ rows: 0, seen: 0, refused: 0 },
    };
    const runs = desk.stores.database.collection<CandidateRun>('candidate_runs');
    await runs.insertOne(run);
    for (const [change, says] of [
      [{}, 'The run counts the leads'],
      [{ total: 41_230 }, 'has scored 0 of 41,230 leads, and 41,230 are left.'],
      [
        { rows: 12_000, seen: 900, refused: 1 },
        'has scored 12,000 of 41,230 leads, and 29,229 are left. 900 leads may be among those that it was trained on. It cannot score 1 lead.',
      ],
      [{ rows: 41_229, state: 'completed' }, 'has scored 41,229 leads. 900 leads may'],
      [
        { state: 'failed', message: 'Version "2.0.0" reads nothing.' },
        'The run failed. Version "2.0.0" reads nothing.',
      ],
      [{ base: '0.9' }, 'The run begins within seconds'],
    ] as const) {
      await runs.updateOne({ _id: run._id }, { $set: change });
      const { candidate_run: document } = await shown();
      expect(document).to.have.property('summary').that.includes(says);
    }
    const { stdout } = await desk.run('model', 'candidate', model, '2.0.0');
    expect(stdout.replace(/\s+/g, ' ')).to.include('Candidate 2.0.0. The run begins within seconds');
    expect(await desk.document('model', 'candidate', model, '--drop')).to.not.have.property('candidate_run');
  });

  it('never serves without an override if the deploy policy would block it', async () => {
    await block();
    const serve = await importNext('--serve');
    expect(serve.exitCode).to.equal(1);
    const { code, message } = JSON.parse(serve.stderr).error;
    expect(code).to.equal('would_block');
    expect(message).to.include('would get 409 for each call').and.to.include('too_early_to_grade');
    expect((await shown()).versions, 'nothing is stored').to.have.length(1);

    await storeNext();
    const set = ['model', 'set', model, '--version', '2.0.0'];
    expect(await refused(set)).to.include({ code: 'would_block' });
    expect(await shown()).to.include({ version: '1.0.0' });
    const overridden = await desk.document(...set, '--override', 'on', '--reason', 'a pilot');
    expect(overridden).to.include({ version: '2.0.0' });
    expect(overridden.override).to.include({ version: '2.0.0', reason: 'a pilot' });
  });

  it('serves under the policy block with an override of the same import', async () => {
    await block();
    const document = await imported('--serve', '--override', '--reason', 'a pilot');
    expect(document).to.include({ version: '2.0.0' });
    expect((await shown()).override).to.include({ version: '2.0.0', reason: 'a pilot' });
  });

  it('a new model serves, and the import says that the policy blocks its calls', async () => {
    await block();
    const words = ['model', 'import', next, '--org', organisation];
    const { stdout } = await desk.run(...words);
    expect(stdout).to.include('its calls get 409').and.to.include('too_early_to_grade');
    expect(await refused([...words, '--candidate']))
      .to.have.property('message')
      .that.includes('--candidate needs --model');
  });

  it('refuses options that exclude each other', async () => {
    const add = ['model', 'import', next, '--org', organisation, '--model', model];
    for (const [words, says] of [
      [['--candidate', '--serve'], 'exclude each other'],
      [['--candidate', '--override', '--reason', 'x'], 'a candidate scores no calls'],
      [['--serve', '--override'], '--override needs --reason'],
      [['--serve', '--reason', 'x'], '--reason needs --override'],
    ] as const)
      expect(await refused([...add, ...words]), words.join(' '))
        .to.have.property('message')
        .that.includes(says);
    for (const words of [[], ['2.0.0', '--drop']])
      expect(await refused(['model', 'candidate', model, ...words]))
        .to.have.property('message')
        .that.includes('--drop');
    expect(await refused(['model', 'candidate', model, '7'])).to.include({ code: 'not_found' });
  });
});
