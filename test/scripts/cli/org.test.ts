import { expect } from 'chai';
import { callCli } from './cli-call.js';
import { type OperatorDesk, operatorDesk } from './operator-desk.js';

describe('leadscore org', () => {
  let desk: OperatorDesk;

  before(async () => {
    desk = await operatorDesk();
  });

  after(() => desk.leave());

  it('create, set, show and list agree, and a change is announced', async () => {
    const trial = await desk.document('org', 'create', '--name', 'On trial', '--plan', 'trial');
    const inDays = (Date.parse(String(trial.trial_ends_at)) - Date.now()) / 86_400_000;
    expect(inDays).to.be.closeTo(14, 0.01);
    expect(trial).to.include({ plan: 'trial', limit: 10_000, backstop: 20_000, policy: 'warn' });

    const id = String(trial.org_id);
    const changed = await desk.document(
      'org',
      'set',
      id,
      '--plan',
      'enterprise',
      '--limit',
      '90000',
      '--policy',
      'block',
    );
    expect(changed).to.include({
      name: 'On trial',
      plan: 'enterprise',
      limit: 90_000,
      backstop: 180_000,
      policy: 'block',
    });
    await desk.announced({ kind: 'organisation', id });
    expect(await desk.document('org', 'show', id)).to.deep.equal(changed);
    const { organisations } = await desk.document('org', 'list');
    expect(organisations).to.deep.include(changed);
  });

  it("set --limit plan goes back to the plan's own limit, also of another plan, and create knows no such word", async () => {
    const id = await desk.newOrganisation('--limit', '123');
    expect(await desk.document('org', 'show', id)).to.include({ limit: 123, backstop: 246 });
    const back = await desk.document('org', 'set', id, '--limit', 'plan');
    expect(back).to.include({ limit: 10_000, backstop: 20_000 });
    await desk.announced({ kind: 'organisation', id });
    await desk.document('org', 'set', id, '--limit', '123');
    const moved = await desk.document('org', 'set', id, '--plan', 'enterprise', '--limit', 'plan');
    expect(moved).to.include({ plan: 'enterprise', limit: 30_000 });
    expect(await desk.document('org', 'show', id)).to.deep.equal(moved);
    for (const words of [
      ['set', id, '--limit', 'plans'],
      ['create', '--name', 'N', '--plan', 'pro', '--limit', 'plan'],
    ])
      expect((await callCli(['org', ...words], desk.settings)).exitCode, words.join(' ')).to.equal(2);
  });

  it('set --plan says that an own limit stays, and how to end it', async () => {
    const id = await desk.newOrganisation('--limit', '123456789');
    const moved = await desk.run('org', 'set', id, '--plan', 'enterprise');
    expect(moved.stdout).to.include('123,456,789 a month included (own limit), stop at 246,913,578');
    expect(moved.stdout).to.include(
      `Its own limit of 123,456,789 records a month stays.\nTo end it: npx leadscore org set ${id} --limit plan`,
    );
    expect(await desk.document('org', 'show', id)).to.include({ plan: 'enterprise', limit: 123_456_789 });
    const free = await desk.run('org', 'set', id, '--plan', 'free');
    expect(free.stdout).to.include('Its own limit of 123,456,789 counts again on a plan with live records.');
    for (const { stdout } of [moved, free])
      expect(stdout.split('\n').filter((line) => line.length > 80)).to.deep.equal([]);
    const ended = await desk.run('org', 'set', id, '--plan', 'enterprise', '--limit', 'plan');
    const plain = await desk.run('org', 'set', await desk.newOrganisation(), '--plan', 'enterprise');
    const named = await desk.run('org', 'set', await desk.newOrganisation('--limit', '5'), '--name', 'N');
    for (const { stdout } of [ended, plain, named]) expect(stdout).to.not.include('Its own limit');
    expect(ended.stdout).to.not.include('(own limit)');
  });

  it('a limit on the plan free is refused: it has no live records to limit', async () => {
    const expectRefused = async (...words: string[]): Promise<void> => {
      const { exitCode, stderr } = await desk.run('org', ...words);
      expect(exitCode, words.join(' ')).to.equal(2);
      expect(stderr).to.include('--limit is for plans with live records; the plan free has none');
    };
    await expectRefused('create', '--name', 'Beta', '--plan', 'free', '--limit', '3');
    const id = await desk.newOrganisation('--limit', '123');
    await expectRefused('set', id, '--plan', 'free', '--limit', '3');
    const free = await desk.document('org', 'set', id, '--plan', 'free');
    expect(free).to.include({ plan: 'free', limit: 0, backstop: 0 });
    await expectRefused('set', id, '--limit', '3');
    expect(await desk.document('org', 'show', id)).to.deep.equal(free);
    expect(await desk.document('org', 'set', id, '--limit', 'plan')).to.deep.equal(free);
    const paid = await desk.document('org', 'set', id, '--plan', 'pro', '--limit', '500');
    expect(paid).to.include({ limit: 500, backstop: 1_000 });
  });

  it('a name is one line without control characters, which would do something to the terminal of others', async () => {
    for (const name of ['red \u001b[31m', 'two\nlines']) {
      const { exitCode, stderr } = await desk.run('org', 'create', '--name', name, '--plan', 'pro');
      expect(exitCode).to.equal(2);
      expect(stderr).to.include('It must be one line without control characters.');
    }
  });

  it('a trial that is begun by set lasts 14 days, or until the date given', async () => {
    const id = await desk.newOrganisation();
    const begun = await desk.document('org', 'set', id, '--plan', 'trial');
    expect((Date.parse(String(begun.trial_ends_at)) - Date.now()) / 86_400_000).to.be.closeTo(14, 0.01);
    const moved = await desk.document('org', 'set', id, '--trial-ends', '2020-01-31');
    expect(moved.trial_ends_at).to.equal('2020-01-31T00:00:00.000Z');
    expect((await desk.run('org', 'show', id)).stdout).to.include('2020-01-31 UTC (over: read-only');
  });

  it('every table and description fits into 80 columns', async () => {
    const id = await desk.newOrganisation('--limit', '123456789');
    await desk.run('org', 'set', id, '--name', 'An organisation with a name that is longer than most');
    for (const words of [
      ['org', 'list'],
      ['org', 'show', id],
      ['key', 'create', id],
      ['key', 'list', id],
      ['usage', 'show', id],
    ]) {
      const { stdout } = await callCli(words, desk.settings);
      const lines = stdout.split('\n').filter((line) => line.length > 80);
      expect(lines, words.join(' ')).to.deep.equal([]);
    }
  });
});
