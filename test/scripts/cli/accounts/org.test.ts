import { expect } from 'chai';
import { callCli } from '../cli-call.js';
import { type OperatorDesk, operatorDesk } from '../operator-desk.js';

describe('leadscore org', () => {
  let desk: OperatorDesk;

  before(async () => {
    desk = await operatorDesk();
  });

  after(() => desk.leave());

  it('org create, set, show and list return the same organisation, and set publishes the change', async () => {
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

  it('org set --won-values and --lost-values set the words of outcomes, and an empty text removes them', async () => {
    const id = await desk.newOrganisation();
    const set = (...options: string[]) => desk.document('org', 'set', id, ...options);
    const named = await set('--won-values', 'Closed Won,"Deal, won"', '--lost-values', 'Closed Lost');
    expect(named).to.deep.include({ won_values: ['Closed Won', 'Deal, won'], lost_values: ['Closed Lost'] });
    await desk.announced({ kind: 'organisation', id });
    const { stdout } = await desk.run('org', 'show', id);
    expect(stdout)
      .to.match(/Won values +Closed Won, Deal, won/)
      .and.match(/Lost values +Closed Lost/);
    const both = await callCli(['org', 'set', id, '--lost-values', 'closed won'], desk.settings);
    expect(both.exitCode).to.not.equal(0);
    expect(both.stderr).to.include('--lost-values has "closed won", which means won too');
    const without = await set('--won-values', '');
    expect(without)
      .to.deep.include({ lost_values: ['Closed Lost'] })
      .and.to.not.have.property('won_values');
    expect(await desk.document('org', 'show', id)).to.deep.equal(without);
  });

  it('org suspend and resume change what org show and list say, and publish it', async () => {
    const id = await desk.newOrganisation();
    const before = await desk.document('org', 'show', id);
    const reason = `invoice ${'1'.repeat(80)} is not paid`;
    const { stdout } = await desk.run('org', 'suspend', id, '--reason', reason);
    expect(stdout)
      .to.match(/Suspended +since .* UTC \(scoring calls get 402\)/)
      .and.include(`To end it: npx leadscore org resume ${id}`);
    expect(stdout.split('\n').filter((line) => line.length > 80)).to.have.length.at.most(1);
    await desk.announced({ kind: 'organisation', id });
    const { suspended, ...rest } = await desk.document('org', 'show', id);
    expect(rest).to.deep.equal(before);
    expect(suspended).to.include({ reason });
    expect((await desk.run('org', 'list')).stdout).to.match(new RegExp(`${id} .*suspended`));
    expect(await desk.document('org', 'resume', id)).to.deep.equal(before);
    expect((await desk.run('org', 'list')).stdout).to.not.include('suspended');
  });

  it("org set --limit plan restores the plan's limit, and org create refuses the word plan", async () => {
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

  it('org set --plan reports that an own limit stays and how to remove it', async () => {
    const id = await desk.newOrganisation('--limit', '123456789');
    const moved = await desk.run('org', 'set', id, '--plan', 'enterprise');
    expect(moved.stdout).to.include('123,456,789 per month (own limit), hard stop at 246,913,578');
    expect(moved.stdout).to.include(
      `Its own limit of 123,456,789 per month stays in force.\nTo remove it: npx leadscore org set ${id} --limit plan`,
    );
    expect(await desk.document('org', 'show', id)).to.include({ plan: 'enterprise', limit: 123_456_789 });
    const free = await desk.run('org', 'set', id, '--plan', 'free');
    expect(free.stdout).to.include('Its own limit of 123,456,789 per month returns on a plan with live records.');
    for (const { stdout } of [moved, free])
      expect(stdout.split('\n').filter((line) => line.length > 80)).to.deep.equal([]);
    const ended = await desk.run('org', 'set', id, '--plan', 'enterprise', '--limit', 'plan');
    const plain = await desk.run('org', 'set', await desk.newOrganisation(), '--plan', 'enterprise');
    const named = await desk.run('org', 'set', await desk.newOrganisation('--limit', '5'), '--name', 'N');
    for (const { stdout } of [ended, plain, named]) expect(stdout).to.not.include('Its own limit');
    expect(ended.stdout).to.not.include('(own limit)');
  });

  it('org create and set refuse --limit on the plan free', async () => {
    const expectRefused = async (...words: string[]): Promise<void> => {
      const { exitCode, stderr } = await desk.run('org', ...words);
      expect(exitCode, words.join(' ')).to.equal(2);
      expect(stderr).to.include('--limit needs a plan with live records, and the plan free has none');
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

  it('org create refuses a name with control characters or line breaks', async () => {
    for (const name of ['red \u001b[31m', 'two\nlines']) {
      const { exitCode, stderr } = await desk.run('org', 'create', '--name', name, '--plan', 'pro');
      expect(exitCode).to.equal(2);
      expect(stderr).to.include('It must be one line without control characters.');
    }
  });

  it('org set --plan trial starts a trial of 14 days, and --trial-ends changes its end', async () => {
    const id = await desk.newOrganisation();
    const begun = await desk.document('org', 'set', id, '--plan', 'trial');
    expect((Date.parse(String(begun.trial_ends_at)) - Date.now()) / 86_400_000).to.be.closeTo(14, 0.01);
    const moved = await desk.document('org', 'set', id, '--trial-ends', '2020-01-31');
    expect(moved.trial_ends_at).to.equal('2020-01-31T00:00:00.000Z');
    expect((await desk.run('org', 'show', id)).stdout).to.include('2020-01-31 UTC (over: read-only');
  });

  it('text output of org, key and usage commands has at most 80 columns', async () => {
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
