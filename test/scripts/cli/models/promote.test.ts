import { expect } from 'chai';
import { checkBundle } from '../../../../shared/bundle/check-bundle.js';
import { createModel, storeVersion } from '../../../../shared/store/models/store-version.js';
import type { Caller, ConsoleService } from '../../../support/admin/console-service.js';
import { sharedConsole } from '../../../support/admin/shared-console.js';
import { sampleBundle } from '../../../support/models/sample-bundle.js';
import { storeComparedRun } from '../../../support/models/sample-comparison.js';
import { startTimeoutMs } from '../../../support/service/service.js';
import { callCli, cliDocument } from '../cli-call.js';

describe('model promote and model rollback, beside the same in the console', () => {
  let service: ConsoleService;
  let settings: Readonly<Record<string, string>>;
  let admin: Caller;
  let model: string;
  let path: string;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedConsole();
    const { redisUrl, mongoUrl } = service;
    settings = { REDIS_URL: redisUrl, MONGODB_URL: mongoUrl, KEY_PEPPER: 'pepper-of-the-tests' };
  });
  beforeEach(async () => {
    const { database } = service;
    const organisationId = await service.newOrganisation();
    const now = new Date();
    model = (await createModel(database, { organisationId, bundle: checkBundle(sampleBundle()), now }))._id;
    const bundle = checkBundle(sampleBundle({ version: '2.0.0' }));
    await storeVersion({ database, organisationId, modelId: model, bundle, now });
    await candidate('2.0.0');
    admin = await service.signIn('admin', organisationId);
    path = `/admin/v1/orgs/${organisationId}/models/${model}`;
  });

  const run = (words: readonly string[], typed?: string) => callCli(['model', ...words], settings, typed);
  const document = (...words: string[]) => cliDocument(['model', ...words], settings);
  /** The error of a command, as JSON. */
  const refused = async (...words: string[]): Promise<{ readonly code: string; readonly message: string }> => {
    const { exitCode, stdout, stderr } = await run([...words, '--json']);
    expect({ exitCode, stdout }, stderr).to.deep.equal({ exitCode: 1, stdout: '' });
    return JSON.parse(stderr).error;
  };
  const candidate = async (version: string) => {
    await document('candidate', model, version);
    await storeComparedRun(service.database, model);
  };
  const named = { current: '1.0.0', candidate: '2.0.0' };

  it('change the same model: what one has promoted, the other rolls back', async () => {
    const promoted = await admin('POST', `${path}/promote`, { body: named });
    expect(promoted.status, JSON.stringify(promoted.body)).to.equal(200);
    expect(promoted.body).to.deep.include({ version: '2.0.0', previous: { version: '1.0.0' } });
    const again = await admin('POST', `${path}/promote`, { body: named });
    expect(again.status).to.equal(409);
    expect(again.body.error).to.include({
      code: 'changed_meanwhile',
      message: `Version "2.0.0" of ${model} was not promoted: the current version is "2.0.0", not "1.0.0". Look at the model again, then decide.`,
    });
    const shown = await run(['show', model]);
    expect(shown.stdout).to.match(/Previous +1\.0\.0\. Back to it: npx leadscore model rollback/);
    expect(await document('rollback', model))
      .to.include({ version: '1.0.0' })
      .and.to.not.have.property('previous');

    await candidate('2.0.0');
    expect(await document('promote', model)).to.include({ version: '2.0.0' });
    const body = { current: '2.0.0', previous: '1.0.0' };
    const back = await admin('POST', `${path}/rollback`, { body });
    expect([back.status, back.body.version]).to.deep.equal([200, '1.0.0']);
    expect((await admin('POST', `${path}/rollback`, { body: { current: '1.0.0' } })).status).to.equal(422);
  });

  it('say how to go on when they are refused', async () => {
    await storeComparedRun(service.database, model, { verdict: 'worse' });
    const worse = await refused('promote', model);
    expect(worse.code).to.equal('needs_force');
    expect(worse.message).to.equal(
      `Version "2.0.0" of ${model} was not promoted: its comparison says that it is worse. Drop the candidate, or promote it by force with a reason: --force with --reason REASON`,
    );
    const organisationId = path.split('/')[4] ?? '';
    await cliDocument(['org', 'set', organisationId, '--policy', 'block'], settings);
    const force = ['--force', '--reason', 'the board wants it'];
    const blocked = await refused('promote', model, ...force);
    expect(blocked.code).to.equal('would_block');
    expect(blocked.message).to.match(/would get 409 for each call.*: --override with --reason REASON$/);
    const promoted = await document('promote', model, ...force, '--override');
    expect(promoted.override).to.include({ version: '2.0.0', reason: 'the board wants it' });
    const back = await refused('rollback', model);
    expect(back.code).to.equal('would_block');
    expect(back.message).to.match(
      /Version "1\.0\.0".* would get 409 for each call.*: --override with --reason REASON$/,
    );
    const reason = ['--override', '--reason', 'a mistake'];
    expect((await document('rollback', model, ...reason)).override).to.include({
      version: '1.0.0',
      reason: 'a mistake',
    });

    const none = await refused('rollback', model);
    expect(none.code).to.equal('not_found');
    expect(none.message).to.include(`${model} has no previous version`).and.to.include('model set');
    expect((await refused('promote', model)).message).to.include(`${model} has no candidate. Import a version`);
  });

  it('refuse another state than the one that a script names', async () => {
    for (const [words, says] of [
      [['promote', model, '--current', '0.9'], 'the current version is "1.0.0", not "0.9"'],
      [['promote', model, '--candidate', '3'], 'the candidate is "2.0.0", not "3"'],
      [['rollback', model, '--previous', '0.9'], 'there is no previous version'],
    ] as const) {
      const { code, message } = await refused(...words);
      expect(code).to.equal('changed_meanwhile');
      expect(message)
        .to.include(says)
        .and.to.match(/then decide: npx leadscore model show MODEL$/);
    }
    expect(await document('show', model)).to.deep.include({ version: '1.0.0' });
  });

  it('ask in a terminal, with the comparison, and change nothing on no', async () => {
    const no = await run(['promote', model], 'n\n');
    expect(no.exitCode).to.equal(1);
    expect(no.stderr)
      .to.include('Better: the top fifth of the candidate converts 2.90 times')
      .and.to.include(`Let version 2.0.0 of ${model} score calls instead of 1.0.0? [y/N]`)
      .and.to.include('was not changed');
    expect(await document('show', model)).to.include({ version: '1.0.0' });
    expect((await run(['promote', model], 'y\n')).exitCode).to.equal(0);
    const back = await run(['rollback', model], 'n\n');
    expect(back.stderr).to.include(`Let version 1.0.0 of ${model} score calls again instead of 2.0.0? [y/N]`);
    expect((await run(['rollback', model, '--yes'], '')).exitCode).to.equal(0);
    expect(await document('show', model)).to.include({ version: '1.0.0' });
  });
});
