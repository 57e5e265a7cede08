import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { operatorName } from '../../../scripts/cli/operator-name.js';
import { requireReferenceBundles } from '../../support/golden-records.js';
import { sampleFeatures } from '../../support/sample-bundle.js';
import { callCli } from './cli-call.js';
import { type OperatorDesk, operatorDesk } from './operator-desk.js';

describe('leadscore model', () => {
  let desk: OperatorDesk;

  before(async () => {
    desk = await operatorDesk();
  });

  after(() => desk.leave());

  /** Imports a small valid bundle as a model; gives its id. */
  const newModel = async (organisation: string): Promise<string> =>
    String(
      (await desk.document('model', 'import', await desk.writeBundle(), '--org', organisation)).model_id,
    );

  it('import makes a model with Live API on; with --model it adds a version, which then scores', async () => {
    const organisation = await desk.newOrganisation();
    const first = await desk.document('model', 'import', await desk.writeBundle(), '--org', organisation);
    expect(first).to.include({ org_id: organisation, version: '1.0.0', live_api: true, family: 'forward' });
    const id = String(first.model_id);
    await desk.announced({ kind: 'model', id });

    const next = await desk.writeBundle({ version: '2.0.0', name: 'Better score' });
    const second = await desk.document(
      'model',
      'import',
      next,
      '--org',
      organisation,
      '--model',
      id,
      '--live-api',
      'off',
    );
    expect(second).to.include({ model_id: id, version: '2.0.0', live_api: false, name: 'Better score' });
    const shown = await desk.document('model', 'show', id);
    expect(shown.versions).to.have.length(2);
    expect(shown.fields).to.deep.include({
      field: 'company_size',
      label: 'Company size',
      type: 'number',
      required: false,
    });
    expect(shown.validation).to.include({ state: 'too_early_to_grade' });

    expect(await desk.document('model', 'set', id, '--version', '1.0.0', '--live-api', 'on')).to.include({
      version: '1.0.0',
      live_api: true,
    });
    const { models } = await desk.document('model', 'list', organisation);
    expect(models).to.have.length(1);
  });

  it('import stores nothing of a bundle that is not in order, or does not give its golden answers', async () => {
    const organisation = await desk.newOrganisation();
    const broken = await desk.writeBundle();
    await writeFile(join(broken, 'model.onnx'), 'not a model');
    const wrong = await desk.writeBundle();
    await writeFile(join(wrong, 'golden.jsonl'), '{"record":{"company_size":5},"raw":0.5,"score":99}\n');
    for (const [path, said] of [
      [broken, 'model.onnx'],
      [wrong, 'does not give the answers that its golden records expect'],
      [join('no', 'such', 'bundle'), 'no such file'],
    ] as const) {
      const { exitCode, stderr } = await desk.run('model', 'import', path, '--org', organisation, '--json');
      expect(exitCode).to.equal(1);
      expect(JSON.parse(stderr).error).to.include({ code: 'bad_bundle' });
      expect(stderr).to.include(said);
    }
    const { stores } = desk;
    expect(await stores.models.list(organisation)).to.deep.equal([]);
    expect(
      await desk.stores.database
        .collection('model_versions')
        .countDocuments({ organisation_id: organisation }),
    ).to.equal(0);
  });

  it('import refuses other content under a version that is there, another family, and other organisations models', async () => {
    const organisation = await desk.newOrganisation();
    const path = await desk.writeBundle();
    const { model_id: id } = await desk.document('model', 'import', path, '--org', organisation);
    const again = ['--org', organisation, '--model', String(id)];
    expect(await desk.document('model', 'import', path, ...again), 'the same again').to.include({
      model_id: id,
    });
    const other = await desk.run(
      'model',
      'import',
      await desk.writeBundle({ intercept: 3, features: sampleFeatures.slice(0, 1) }),
      ...again,
      '--json',
    );
    expect(JSON.parse(other.stderr).error.code).to.equal('version_taken');
    const timing = await desk.run(
      'model',
      'import',
      await desk.writeBundle({ version: '3', family: 'timing' }),
      ...again,
    );
    expect(timing.stderr).to.include('family is timing');
    const elsewhere = await desk.run(
      'model',
      'import',
      path,
      '--org',
      await desk.newOrganisation(),
      '--model',
      String(id),
    );
    expect(elsewhere.exitCode).to.equal(1);
    expect(elsewhere.stderr).to.include(`There is no model ${String(id)}`);
  });

  it('set --override keeps who, when and why, and takes it back', async () => {
    const organisation = await desk.newOrganisation();
    const model = await newModel(organisation);
    expect((await desk.run('model', 'set', model, '--override', 'on')).exitCode).to.equal(2);
    expect((await desk.run('model', 'set', model)).exitCode).to.equal(2);
    const { override } = await desk.document(
      'model',
      'set',
      model,
      '--override',
      'on',
      '--reason',
      'the board said so',
    );
    expect(override).to.include({ reason: 'the board said so' }).and.to.have.keys('by', 'at', 'reason');
    await desk.announced({ kind: 'model', id: model });
    expect(await desk.document('model', 'set', model, '--override', 'off')).to.not.have.property('override');
  });

  it('knows who overrides by the number where the user has no account, as in a container', () => {
    const noAccount = () => {
      throw new Error('uv_os_get_passwd returned ENOENT');
    };
    expect(operatorName(noAccount)).to.equal(`uid ${process.getuid?.()}`);
    expect(operatorName(() => ({ username: 'ada' }))).to.equal('ada');
  });

  it('delete makes a model unknown', async () => {
    const organisation = await desk.newOrganisation();
    const id = await newModel(organisation);
    await desk.document('model', 'delete', id);
    await desk.announced({ kind: 'model', id });
    expect((await desk.run('model', 'show', id)).exitCode).to.equal(1);
    expect((await desk.document('model', 'list', organisation)).models).to.deep.equal([]);
  });

  describe('delete, of a person at a terminal,', () => {
    let id: string;

    before(async () => {
      id = await newModel(await desk.newOrganisation());
    });

    const isThere = async () => (await desk.run('model', 'show', id)).exitCode === 0;

    for (const [what, typed] of [
      ['no', 'no\n'],
      ['an empty line', '\n'],
      ['the end of the input', ''],
    ] as const) {
      it(`asks, and does nothing after ${what}`, async () => {
        const { exitCode, stdout, stderr } = await callCli(['model', 'delete', id], desk.settings, typed);
        expect({ exitCode, stdout }).to.deep.equal({ exitCode: 1, stdout: '' });
        expect(stderr).to.include(`Delete ${id}`).and.include('[y/N]').and.include('was not deleted');
        expect(await isThere()).to.equal(true);
      });
    }

    it('asks, and does nothing after Ctrl-C, which is told apart from a no', async () => {
      const { exitCode, stdout, stderr } = await callCli(['model', 'delete', id], desk.settings, '\u0003');
      expect({ exitCode, stdout }).to.deep.equal({ exitCode: 130, stdout: '' });
      expect(stderr)
        .to.include('[y/N]')
        .and.match(/\nError: Interrupted: nothing was changed\.\n$/);
      expect(await isThere()).to.equal(true);
    });

    it('asks on standard output when standard error is a file', async () => {
      const call = await callCli(['model', 'delete', id], desk.settings, 'no\n', ['stdout']);
      expect(call.exitCode).to.equal(1);
      expect(call.stdout).to.include('[y/N]');
      expect(await isThere()).to.equal(true);
    });

    it('refuses when it could not be read what is asked, and names --yes', async () => {
      const { exitCode, stderr } = await callCli(['model', 'delete', id], desk.settings, 'yes\n', []);
      expect(exitCode).to.equal(2);
      expect(stderr).to.include('Add --yes');
      expect(await isThere()).to.equal(true);
    });

    it('asks nothing when told --yes', async () => {
      const { exitCode, stderr } = await callCli(['model', 'delete', id, '--yes'], desk.settings, '');
      expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' });
      expect(await isThere()).to.equal(false);
    });

    it('deletes after yes', async () => {
      id = await newModel(await desk.newOrganisation());
      const { exitCode, stdout } = await callCli(['model', 'delete', id], desk.settings, 'yes\n');
      expect(exitCode).to.equal(0);
      expect(stdout).to.include('is deleted');
      expect(await isThere()).to.equal(false);
    });
  });

  it('check compares golden answers, of several bundles, without any server', async () => {
    const good = await desk.writeBundle();
    const bad = await desk.writeBundle();
    await writeFile(
      join(bad, 'golden.jsonl'),
      '{"record":{"company_size":5},"raw":0.9,"score":3,"conversion_likelihood":0.1}\n',
    );
    const passed = await callCli(['model', 'check', good]);
    expect(passed.exitCode, passed.stderr).to.equal(0);
    expect(passed.stdout).to.match(/bundle-.* 3 .* equal +equal +ok/);

    const failed = await callCli(['model', 'check', good, bad, '--json']);
    expect(failed.exitCode).to.equal(1);
    const { bundles, passed: all } = JSON.parse(failed.stdout);
    expect(all).to.equal(false);
    expect(bundles[0].golden.largest_raw_difference).to.be.below(1e-6);
    expect(bundles[1].golden).to.include({ records: 1, score_mismatches: 1, likelihood_mismatches: 1 });
    expect(bundles[1].golden.differences[0]).to.match(
      /^record 1: raw .*, expected 0\.9, score .*, expected 3, likelihood/,
    );
  });

  it('check finds the reference models in order', async function () {
    const paths = requireReferenceBundles(this);
    const { exitCode, stdout } = await callCli(['model', 'check', ...paths, '--json']);
    expect(exitCode, stdout).to.equal(0);
    const { bundles } = JSON.parse(stdout);
    expect(bundles).to.have.length(3);
    for (const { golden } of bundles) {
      expect(golden).to.include({ records: 200, score_mismatches: 0, likelihood_mismatches: 0 });
      expect(golden.largest_raw_difference).to.be.at.most(1e-6);
    }
  });
});
