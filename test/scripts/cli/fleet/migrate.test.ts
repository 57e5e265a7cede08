import { expect } from 'chai';
import { ownLevel } from '../../../../shared/process/release.js';
import { schemaStates } from '../../../../shared/store/schema/schema-state.js';
import { schemaSteps } from '../../../../shared/store/schema/schema-steps.js';
import { type OperatorDesk, operatorDesk } from '../operator-desk.js';

describe('leadscore migrate', () => {
  let desk: OperatorDesk;

  beforeEach(async () => {
    desk = await operatorDesk();
  });
  afterEach(() => desk.leave());

  /** A database without a number, as releases before it made. */
  const older = () => desk.stores.database.collection('outcomes').insertOne({ crm_id: 'L-1' });

  it('has nothing to do in a new database', async () => {
    await desk.newOrganisation();
    expect((await desk.run('migrate')).stdout).to.equal(
      `The database has schema ${ownLevel}, as this release needs. There is nothing to do.\n`,
    );
  });

  it('shows the steps and how much they may read, and changes nothing, with --dry-run', async () => {
    await older();
    const { steps } = await desk.document('migrate', '--dry-run');
    expect(steps).to.have.length(ownLevel).and.have.nested.property('[0].documents', 1);
    expect((await desk.run('migrate', '--dry-run')).stdout)
      .to.match(/^Step 1: the collections and indexes of 0\.1\.0\. It reads at most 1 documents? of \d+ B\./)
      .and.include('Nothing was changed.');
    expect(await schemaStates(desk.stores.database).findOne({ _id: 'schema' })).to.equal(null);
  });

  it('must run before other commands use an older database, and doctor names it', async () => {
    await older();
    for (const words of [
      ['org', 'list'],
      ['org', 'create', '--name', 'Acme', '--plan', 'pro'],
    ]) {
      const { exitCode, stderr } = await desk.run(...words);
      expect([exitCode, stderr]).to.deep.equal([
        1,
        `Error: The database has no schema number, and this release (0.1.0) needs schema ${ownLevel}. Run ` +
          '`npx leadscore migrate`. Processes of the release before go on meanwhile.\n',
      ]);
    }
    const { mistakes } = JSON.parse((await desk.run('doctor', '--json')).stdout);
    expect(mistakes.map(({ code }: { code: string }) => code)).to.include('database_older');
    const { stdout, stderr } = await desk.run('migrate');
    const steps = schemaSteps.map(({ level, name }) => `Step ${level} of ${ownLevel}: ${name}.\n`);
    expect(stderr).to.equal(steps.join(''));
    expect(stdout).to.equal(`The database has schema ${ownLevel}, as this release needs.\n`);
    expect((await desk.run('org', 'list')).exitCode).to.equal(0);
  });

  it('refuses a database that a later release has changed', async () => {
    await desk.newOrganisation();
    const later = { at: 9, usable_from: 9, release: '9.0.0' };
    await schemaStates(desk.stores.database).updateOne({ _id: 'schema' }, { $set: later });
    for (const words of [['migrate'], ['org', 'list']]) {
      const { exitCode, stderr } = await desk.run(...words);
      expect(exitCode).to.equal(1);
      expect(stderr).to.include('Release 9.0.0 has changed the database').and.include('Start release 9.0.0');
    }
  });
});
