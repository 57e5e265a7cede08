import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { ObjectId } from 'mongodb';
import { operatorName } from '../../../scripts/cli/context/operator.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { requireReferenceBundles } from '../../support/models/golden-records.js';
import { type SampleOptions, sampleBundle, sampleFeatures } from '../../support/models/sample-bundle.js';
import { itInFull } from '../../support/tier.js';
import { callCli } from './cli-call.js';
import { type OperatorDesk, operatorDesk } from './operator-desk.js';

describe('leadscore model', () => {
  let desk: OperatorDesk;

  before(async () => {
    desk = await operatorDesk();
  });

  after(() => desk.leave());

  /** Stores a small valid bundle as a new model, without the process that checks it, and returns its id. */
  const newModel = async (organisationId: string, options?: SampleOptions): Promise<string> => {
    const bundle = checkBundle(sampleBundle(options));
    return (await createModel(desk.stores.database, { organisationId, bundle, now: new Date() }))._id;
  };

  it('model import creates a model with Live API on, and --model with --serve adds and activates a version', async () => {
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
      '--serve',
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

  it('model set --rescore names a key and a number, model show says so, and off ends it', async () => {
    const organisation = await desk.newOrganisation();
    const id = await newModel(organisation);
    const key = String((await desk.document('key', 'create', organisation, '--name', 'Nightly')).key_id);
    for (const [words, problem] of [
      [['--rescore', 'nightly'], '--rescore nightly needs --key'],
      [['--rescore', 'off', '--key', key], '--key and --at-most need --rescore promotion or --rescore nightly'],
      [['--key', key], 'Nothing to set'],
    ] as const) {
      const { exitCode, stderr } = await desk.run('model', 'set', id, ...words);
      expect([exitCode, stderr.includes(problem)], stderr).to.deep.equal([2, true]);
    }
    const refused = await desk.run('model', 'set', id, '--rescore', 'nightly', '--key', 'key_none', '--at-most', '5');
    expect(refused.stderr).to.include('The organisation has no such key.');
    const set = await desk.document('model', 'set', id, '--rescore', 'nightly', '--key', key, '--at-most', '50000');
    expect(set.rescore).to.include({ when: 'nightly', key_id: key, key_name: 'Nightly', at_most: 50_000 });
    expect((await desk.run('model', 'show', id)).stdout.replaceAll(/\s+/g, ' ')).to.include(
      `Rescoring at most 50,000 stored leads each night (UTC), under ${key} (Nightly), by ${operatorName()}`,
    );
    expect(await desk.document('model', 'set', id, '--rescore', 'off')).to.not.have.property('rescore');
  });

  it('model show names the order in which a date is read', async () => {
    const date = { label: 'Date', type: 'date', impute: 0 } as const;
    const features = [
      { ...date, field: 'created', columns: [0], date_order: 'mdy' },
      { ...date, field: 'closed', columns: [1] },
      ...sampleFeatures.slice(2),
    ] as const;
    const path = await desk.writeBundle({ features });
    const imported = await desk.document('model', 'import', path, '--org', await desk.newOrganisation());
    const { stdout } = await desk.run('model', 'show', String(imported.model_id));
    expect(stdout)
      .to.match(/^created +Date +date \(month\/day\/year\)$/m)
      .and.match(/^closed +Date +date$/m);
    const { fields } = await desk.document('model', 'show', String(imported.model_id));
    const [created, closed] = fields as readonly object[];
    expect(created).to.include({ type: 'date', date_order: 'mdy' });
    expect(closed).to.include({ type: 'date' }).and.not.have.property('date_order');
  });

  itInFull('model import stores the explain method that the bundle has, whatever its manifest promises', async () => {
    const organisation = await desk.newOrganisation();
    const zeros = [0, 0, 0, 0, 0, 0];
    for (const [method, options] of [
      ['linear', {}],
      ['linear', { manifest: { explain: { kind: 'baseline', values: zeros } } }],
      ['tree', { model: 'tree' }],
      // The trees have no covers, because the manifest names none.
      ['occlusion', { model: 'tree', manifest: { explain: { kind: 'linear', means: zeros } } }],
    ] as const) {
      const path = await desk.writeBundle(options);
      const imported = await desk.document('model', 'import', path, '--org', organisation);
      const { model_id: id } = imported;
      expect(imported.explain_method).to.equal(method);
      const { bundles } = await desk.document('model', 'check', path);
      const [checked = {}] = bundles as Record<string, unknown>[];
      expect(checked.explain_method).to.equal(method);
      for (const { occlusion_reason: reason } of [imported, checked])
        expect(reason).to.equal(
          method === 'occlusion' ? 'the trees come without the weights of their nodes' : undefined,
        );
      expect(await desk.stores.database.collection('model_versions').findOne({ model_id: id })).to.include({
        explain_method: method,
      });
    }
  });

  it('model import stores nothing when the bundle is invalid or differs from its golden records', async () => {
    const organisation = await desk.newOrganisation();
    const broken = await desk.writeBundle();
    await writeFile(join(broken, 'model.onnx'), 'not a model');
    const wrong = await desk.writeBundle();
    await writeFile(join(wrong, 'golden.jsonl'), '{"record":{"company_size":5},"raw":0.5,"score":99}\n');
    for (const [path, message] of [
      [broken, 'model.onnx'],
      [wrong, 'was not imported, because its results differ from its golden records'],
      [join('no', 'such', 'bundle'), 'no such file'],
    ] as const) {
      const { exitCode, stderr } = await desk.run('model', 'import', path, '--org', organisation, '--json');
      expect(exitCode).to.equal(1);
      expect(JSON.parse(stderr).error).to.include({ code: 'bad_bundle' });
      expect(stderr).to.include(message);
    }
    const { stores } = desk;
    expect(await stores.models.list(organisation)).to.deep.equal([]);
    expect(
      await desk.stores.database.collection('model_versions').countDocuments({ organisation_id: organisation }),
    ).to.equal(0);
  });

  it('model import names the model that has the same bundle, and --new makes another model', async () => {
    const organisation = await desk.newOrganisation();
    const bundle = await desk.writeBundle({ name: 'First score' });
    const words = ['model', 'import', bundle, '--org', organisation];
    const id = await newModel(organisation, { name: 'First score' });
    const { exitCode, stderr } = await desk.run(...words);
    expect(exitCode).to.equal(1);
    expect(stderr.replace(/\s+/g, ' ')).to.include(
      `${organisation} has this bundle already: version "1.0.0" of the model ${id} (First score). Import it as a version of that model, or as a new model on purpose: --model ${id} with --candidate or --serve, or --new`,
    );
    const json = await desk.run(...words, '--json');
    expect(JSON.parse(json.stderr).error).to.include({ code: 'bundle_stored', model_id: id, version: '1.0.0' });
    expect(json.stdout).to.equal('');

    expect(await desk.document(...words, '--model', id, '--serve')).to.include({ model_id: id, version: '1.0.0' });
    const both = await desk.run(...words, '--model', id, '--new');
    expect(both).to.include({ exitCode: 2, stderr: 'Error: --model and --new exclude each other\n' });
    const second = await desk.document(...words, '--new');
    expect(second.model_id).to.not.equal(id);
    const { models } = await desk.document('model', 'list', organisation);
    expect(models).to.have.length(2);

    // A model of another organisation, a deleted one and other content do not count.
    const other = await desk.newOrganisation();
    const deleted = await newModel(other, { name: 'First score' });
    await desk.document('model', 'delete', deleted, '--yes');
    expect(await desk.document('model', 'import', bundle, '--org', other)).to.include({ version: '1.0.0' });
    const changed = await desk.writeBundle({ name: 'First score', intercept: 3 });
    expect(await desk.document('model', 'import', changed, '--org', organisation)).to.include({ version: '1.0.0' });
  });

  itInFull(
    'model import refuses the 1,001st model of an organisation, and the 1,001st version of a model',
    async () => {
      const organisation = await desk.newOrganisation();
      const id = await newModel(organisation);
      const { database } = desk.stores;
      const numbers = Array.from({ length: 999 }, (_, index) => index);
      await database
        .collection<{ _id: string }>('model_versions')
        .insertMany(numbers.map((number) => ({ _id: `${id}:0.${number}`, files: { onnx: new ObjectId() } })));
      const next = await desk.writeBundle({ version: '2.0.0' });
      const add = ['model', 'import', next, '--org', organisation, '--json'];
      const version = await desk.run(...add, '--model', id, '--serve');
      expect(JSON.parse(version.stderr).error).to.include({ code: 'too_many_versions' });
      const stored = await desk.writeBundle();
      const again = await desk.document('model', 'import', stored, '--org', organisation, '--model', id, '--serve');
      expect(again).to.include({ version: '1.0.0' });

      await database
        .collection<{ _id: string }>('models')
        .insertMany(numbers.map((number) => ({ _id: `mdl_${organisation}${number}`, organisation_id: organisation })));
      const model = await desk.run(...add);
      expect(JSON.parse(model.stderr).error).to.include({ code: 'too_many_models' });
      expect(JSON.parse(model.stderr).error.message).to.include('has 1000 models, and an organisation may have 1000');
      await desk.document('model', 'delete', id);
      expect(await desk.document(...add)).to.include({ version: '2.0.0' });
    },
  );

  it("model import refuses new content for a stored version, another family and another organisation's model", async () => {
    const organisation = await desk.newOrganisation();
    const path = await desk.writeBundle();
    const id = await newModel(organisation);
    const again = ['--org', organisation, '--model', id, '--serve'];
    expect(await desk.document('model', 'import', path, ...again), 'same content').to.include({
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
      id,
      '--serve',
    );
    expect(elsewhere.exitCode).to.equal(1);
    expect(elsewhere.stderr).to.include(`There is no model ${id}`);
  });

  it('model set --override on stores version, user, time and reason, and off removes them', async () => {
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
    expect(override)
      .to.include({ version: '1.0.0', reason: 'the board said so' })
      .and.to.have.keys('version', 'by', 'at', 'reason');
    await desk.announced({ kind: 'model', id: model });
    expect(await desk.document('model', 'set', model, '--override', 'off')).to.not.have.property('override');
  });

  it('an override applies only to its version: import and set --version say that the new one has none', async () => {
    const organisation = await desk.newOrganisation();
    const model = await newModel(organisation);
    await desk.document('model', 'set', model, '--override', 'on', '--reason', 'a pilot');
    const next = await desk.writeBundle({ version: '2.0.0' });
    const imported = await desk.run('model', 'import', next, '--org', organisation, '--model', model, '--serve');
    expect(imported.stdout).to.match(/Override +none for 2\.0\.0\. The one of version 1\.0\.0 does not apply/);
    expect(await desk.document('model', 'show', model)).to.not.have.property('override');
    const { stdout } = await desk.run('model', 'list', organisation);
    expect(stdout).to.not.include('overridden');

    const back = await desk.document('model', 'set', model, '--version', '1.0.0');
    expect(back.override).to.include({ version: '1.0.0', reason: 'a pilot' });
    const away = await desk.run('model', 'set', model, '--version', '2.0.0');
    expect(away.stdout).to.match(/Override +none for 2\.0\.0\. The one of version 1\.0\.0 does not apply/);
    const both = ['--version', '1.0.0', '--override', 'on', '--reason', 'again'];
    expect((await desk.document('model', 'set', model, ...both)).override).to.include({ version: '1.0.0' });
  });

  it('the operator name is the uid when the user has no account, as in a container', () => {
    const noAccount = () => {
      throw new Error('uv_os_get_passwd returned ENOENT');
    };
    expect(operatorName(noAccount)).to.equal(`uid ${process.getuid?.()}`);
    expect(operatorName(() => ({ username: 'ada' }))).to.equal('ada');
  });

  it('model check compares the golden records of several bundles without servers', async () => {
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

  it('model check passes the reference models', async function () {
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
