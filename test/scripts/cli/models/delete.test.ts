import { expect } from 'chai';
import { checkBundle } from '../../../../shared/bundle/check-bundle.js';
import { FieldDayStore } from '../../../../shared/store/models/field-days.js';
import { createModel } from '../../../../shared/store/models/store-version.js';
import { sampleBundle } from '../../../support/models/sample-bundle.js';
import { callCli } from '../cli-call.js';
import { type OperatorDesk, operatorDesk } from '../operator-desk.js';

describe('leadscore model delete', () => {
  let desk: OperatorDesk;

  before(async () => {
    desk = await operatorDesk();
  });

  after(() => desk.leave());

  /** Stores a small valid bundle as a new model, and returns its id. */
  const newModel = async (organisationId: string): Promise<string> => {
    const bundle = checkBundle(sampleBundle());
    return (await createModel(desk.stores.database, { organisationId, bundle, now: new Date() }))._id;
  };

  it('removes a model from show and list, and the coverage of its fields', async () => {
    const organisation = await desk.newOrganisation();
    const id = await newModel(organisation);
    const sums = { version: '1.0.0', day: 20_000, records: 1, counts: new Map(), values: new Map() };
    const models = [id, `${id}0`];
    await new FieldDayStore(desk.stores.database).add(models.map((model) => ({ org: organisation, model, ...sums })));
    await desk.document('model', 'delete', id);
    expect(await desk.stores.database.collection('field_days').distinct('model')).to.deep.equal([`${id}0`]);
    await desk.announced({ kind: 'model', id });
    expect((await desk.run('model', 'show', id)).exitCode).to.equal(1);
    expect((await desk.document('model', 'list', organisation)).models).to.deep.equal([]);
  });

  describe('at a terminal', () => {
    let id: string;

    before(async () => {
      id = await newModel(await desk.newOrganisation());
    });

    const isThere = async () => (await desk.run('model', 'show', id)).exitCode === 0;

    for (const [what, typed] of [
      ['no', 'no\n'],
      ['an empty line', '\n'],
      ['end of input', ''],
    ] as const) {
      it(`keeps the model and exits with 1 when the answer is ${what}`, async () => {
        const { exitCode, stdout, stderr } = await callCli(['model', 'delete', id], desk.settings, typed);
        expect({ exitCode, stdout }).to.deep.equal({ exitCode: 1, stdout: '' });
        expect(stderr).to.include(`Delete ${id}`).and.include('[y/N]').and.include('was not deleted');
        expect(await isThere()).to.equal(true);
      });
    }

    it('keeps the model and exits with 130 on Ctrl-C', async () => {
      const { exitCode, stdout, stderr } = await callCli(['model', 'delete', id], desk.settings, '\u0003');
      expect({ exitCode, stdout }).to.deep.equal({ exitCode: 130, stdout: '' });
      expect(stderr)
        .to.include('[y/N]')
        .and.match(/\nError: Interrupted: nothing was changed\.\n$/);
      expect(await isThere()).to.equal(true);
    });

    it('prints the question on standard output when standard error is a file', async () => {
      const call = await callCli(['model', 'delete', id], desk.settings, 'no\n', ['stdout']);
      expect(call.exitCode).to.equal(1);
      expect(call.stdout).to.include('[y/N]');
      expect(await isThere()).to.equal(true);
    });

    it('exits with 2 and names --yes when no output is a terminal', async () => {
      const { exitCode, stderr } = await callCli(['model', 'delete', id], desk.settings, 'yes\n', []);
      expect(exitCode).to.equal(2);
      expect(stderr).to.include('Add --yes');
      expect(await isThere()).to.equal(true);
    });

    it('deletes without a question with --yes', async () => {
      const { exitCode, stderr } = await callCli(['model', 'delete', id, '--yes'], desk.settings, '');
      expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' });
      expect(await isThere()).to.equal(false);
    });

    it('deletes when the answer is yes', async () => {
      id = await newModel(await desk.newOrganisation());
      const { exitCode, stdout } = await callCli(['model', 'delete', id], desk.settings, 'yes\n');
      expect(exitCode).to.equal(0);
      expect(stdout).to.include('was deleted');
      expect(await isThere()).to.equal(false);
    });
  });
});
