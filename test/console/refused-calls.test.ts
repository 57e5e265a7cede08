import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { overrideModel } from '../../shared/admin/models/change-models.js';
import { createOrganisation, setOrganisation } from '../../shared/admin/organisations/change-organisations.js';
import { showStanding } from '../../shared/admin/organisations/show-standing.js';
import { resumeOrganisation, suspendOrganisation } from '../../shared/admin/organisations/suspension.js';
import { runAction } from '../../shared/admin/run-action.js';
import { dayMs, monthOf } from '../../shared/contract/dates.js';
import { usageKey } from '../../shared/redis/keys.js';
import type { Organisation } from '../../shared/store/accounts/organisations.js';
import { ModelStore } from '../../shared/store/models/models.js';
import { appearances } from '../support/admin/console-browser.js';
import { filledOrganisation } from '../support/admin/filled-organisation.js';
import { consoleInBrowser } from '../support/browser/console-in-browser.js';
import { startTimeoutMs } from '../support/service/service.js';
import { itInFull } from '../support/tier.js';

describe('the console of an organisation whose calls are refused', function () {
  this.timeout(3 * startTimeoutMs);
  const site = consoleInBrowser();

  const banner = (page: Page) => page.getByRole('region', { name: 'Refused calls' });
  const refusalsOf = async (id: string) => (await site.service.act(showStanding, { org_id: id })).refusals;
  async function endedTrial(): Promise<string> {
    const ended = new Date(Date.now() - 3 * dayMs).toISOString();
    return (await site.service.act(createOrganisation, { name: 'Ended', plan: 'trial', trial_ends_at: ended })).org_id;
  }
  async function atHardStop(used: number): Promise<string> {
    const organisationId = await site.service.newOrganisation('Stopped');
    const counter = { organisationId, bucket: 'live', month: monthOf(Date.now()) } as const;
    await site.service.redis.hset(usageKey(counter), 'used', used);
    return organisationId;
  }
  /** One of its models has passed, another one has not. */
  async function blocked(): Promise<string> {
    const { id } = await filledOrganisation(site.service);
    await site.service.act(setOrganisation, { org_id: id, policy: 'block' });
    return id;
  }

  itInFull('says on each page that the trial has ended, until the operator sets a plan', async () => {
    const id = await endedTrial();
    const owner = await site.open();
    await owner.signIn('owner', id);
    for (const link of ['Overview', 'API keys', 'Usage', 'Settings']) {
      await owner.page.getByRole('navigation').getByRole('link', { name: link }).click();
      await banner(owner.page).getByText('scoring calls of all keys are refused').waitFor();
    }
    await banner(owner.page).getByText('Ask the operator for it.').waitFor();
    await owner.close();
    const operator = await site.open();
    const { page } = operator;
    await operator.signIn('operator');
    await page.goto(`${site.service.url}/o/${id}/`);
    await banner(page).getByRole('link', { name: 'Set the plan' }).click();
    await page.getByLabel('Plan', { exact: true }).selectOption('pro');
    await page.getByRole('button', { name: 'Save plan' }).click();
    await banner(page).waitFor({ state: 'detached' });
    await operator.close();
  });

  it('lets an operator suspend an organisation with a reason, shows it to its people, and ends it', async () => {
    const { id } = await filledOrganisation(site.service);
    const operator = await site.open();
    const { page } = operator;
    await operator.signIn('operator');
    await page.goto(`${site.service.url}/o/${id}/settings`);
    await page.getByRole('button', { name: 'Suspend…' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('button', { name: 'Suspend', exact: true }).isDisabled()).to.equal(true);
    await dialog.getByLabel('Reason').fill('invoice 1047 is not paid');
    await dialog.getByRole('button', { name: 'Suspend', exact: true }).click();
    await banner(page).getByText('invoice 1047 is not paid').waitFor();
    await page.getByText('by Ada: invoice 1047 is not paid').waitFor();
    await operator.check('settings-suspended');
    const owner = await site.open();
    await owner.signIn('owner', id);
    await banner(owner.page).getByText('nothing is scored').waitFor();
    await banner(owner.page).getByText('Ask the operator to end it.').waitFor();
    await owner.page.getByRole('navigation').getByRole('link', { name: 'Settings' }).click();
    await owner.page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
    expect(await owner.page.getByText('End the suspension').count()).to.equal(0);
    await owner.close();
    await page.goto(`${site.service.url}/o/${id}/`);
    await banner(page).getByRole('link', { name: 'End the suspension' }).click();
    await page.getByRole('button', { name: 'End the suspension' }).click();
    await banner(page).waitFor({ state: 'detached' });
    await page.getByText('The organisation is not suspended.').waitFor();
    await operator.close();
  });

  itInFull('marks a suspended organisation on the page of organisations', async () => {
    // Ids of this form come first, so both are on the first page.
    const orgs = site.service.database.collection<Organisation>('orgs');
    const of = (name: string) => ({ name, plan: 'pro', policy: 'warn', created_at: new Date() }) as const;
    const suspended = { at: new Date(), by: 'Olga', reason: 'not paid' };
    const first = `org_${'0'.repeat(15)}`;
    await orgs.insertMany([
      { _id: `${first}1`, ...of('Without payment'), suspended },
      { _id: `${first}2`, ...of('With payment') },
    ]);
    const operator = await site.open();
    const { page } = operator;
    await operator.signIn('operator');
    await page.goto(`${site.service.url}/orgs`);
    const marks = (name: string) => page.getByRole('row').filter({ hasText: name }).getByText('Suspended');
    await marks('Without payment').waitFor();
    expect(await marks('With payment').count()).to.equal(0);
    await operator.check('orgs-suspended');
    await operator.close();
    await orgs.deleteMany({ _id: { $in: [`${first}1`, `${first}2`] } });
  });

  itInFull('shows a change by others within a minute, and reads nothing at a click', async () => {
    const id = await endedTrial();
    const opened = await site.open();
    const { page } = opened;
    await page.clock.install();
    let reads = 0;
    page.on('request', (request) => {
      if (request.url().endsWith('/standing')) reads += 1;
    });
    await opened.signIn('owner', id);
    await banner(page).waitFor();
    for (const link of ['Usage', 'Settings']) {
      await page.getByRole('navigation').getByRole('link', { name: link }).click();
      await page.getByRole('heading', { name: link, level: 1 }).waitFor();
    }
    expect(reads).to.equal(1);
    await site.service.act(setOrganisation, { org_id: id, plan: 'pro' });
    await page.clock.fastForward(60_000);
    await banner(page).waitFor({ state: 'detached' });
    await opened.close();
  });

  it('reads each state', async () => {
    const of = async (id: string) => (await refusalsOf(id)).map(({ reason }) => reason);
    expect(await of(await endedTrial())).to.deep.equal(['trial_ended']);
    const suspended = await endedTrial();
    const { suspended: shown } = await site.service.act(suspendOrganisation, { org_id: suspended, reason: 'not paid' });
    const [refusal, ...more] = await refusalsOf(suspended);
    expect(refusal).to.deep.equal({ reason: 'suspended', since: shown?.since, operator_reason: 'not paid' });
    expect(more).to.deep.equal([]);
    await site.service.act(resumeOrganisation, { org_id: suspended });
    expect(await of(suspended)).to.deep.equal(['trial_ended']);
    const free = await site.service.act(createOrganisation, { name: 'Free', plan: 'free' });
    expect(await of(free.org_id)).to.deep.equal(['plan_without_live_calls']);
    expect(await of(await atHardStop(19_999))).to.deep.equal([]);
    const [stopped] = await refusalsOf(await atHardStop(20_000));
    expect(stopped).to.include({ reason: 'hard_stop', backstop: 20_000 });
    const id = await blocked();
    const [{ models = [], model_count: count } = { models: [], model_count: 0 }] = await refusalsOf(id);
    expect([models.length, count]).to.deep.equal([1, 1]);
    const [{ model_id: modelId } = { model_id: '' }] = models;
    await site.service.act(overrideModel, { org_id: id, model_id: modelId, reason: 'known' });
    expect(await of(id)).to.deep.equal([]);
    const other = await blocked();
    const all = await new ModelStore(site.service.database).list(other);
    const [refused] = (await refusalsOf(other))[0]?.models ?? [];
    expect(all.find(({ _id }) => _id === refused?.model_id)?.live_api).to.equal(true);
    await site.service.act(setOrganisation, { org_id: other, policy: 'warn' });
    expect(await of(other)).to.deep.equal([]);
  });

  it('leaves out a model whose verdict is not read, and names one whose verdict is of the future', async () => {
    const id = await blocked();
    const verdicts = site.service.database.collection('model_validation');
    await verdicts.updateMany({ organisation_id: id }, { $set: { graded_at: new Date(Date.now() + dayMs) } });
    expect((await refusalsOf(id))[0]?.model_count).to.equal(2);
    const database = Object.create(site.service.database, {
      collection: {
        value: (name: string) => {
          if (name !== 'model_validation') return site.service.database.collection(name);
          const find = () => ({ toArray: () => Promise.reject(new Error('no primary')) });
          return { find };
        },
      },
    });
    const { refusals } = await runAction(showStanding, { org_id: id }, { ...site.service.context, database });
    expect(refusals).to.deep.equal([]);
  });

  for (const appearance of appearances)
    itInFull(`names the way out of each state, ${appearance.colorScheme} at ${appearance.viewport.width}`, async () => {
      const free = await site.service.act(createOrganisation, { name: 'Free', plan: 'free' });
      const suspended = await site.service.act(createOrganisation, { name: 'Suspended', plan: 'pro' });
      await site.service.act(suspendOrganisation, { org_id: suspended.org_id, reason: 'not paid' });
      const states = [
        ['suspended', suspended.org_id, 'suspended this organisation on', 'Ask the operator to end it.'],
        ['trial', await endedTrial(), 'The trial ended on', 'Ask the operator for it.'],
        ['free', free.org_id, 'The plan free has no live records', 'Ask the operator for it.'],
        [
          'hard-stop',
          await atHardStop(25_000),
          'All 20,000 records of this month are used',
          'Ask the operator for it.',
        ],
        ['blocked', await blocked(), 'calls of a model that has not passed are refused', 'set the policy to warn'],
      ] as const;
      for (const [name, id, text, way] of states) {
        const opened = await site.open(appearance);
        await opened.signIn('owner', id);
        await banner(opened.page).getByText(text).waitFor();
        await banner(opened.page).getByText(way).waitFor();
        await opened.page.getByText('Records scored in').waitFor();
        await opened.check(`refused-${name}`);
        await opened.close();
      }
    });
});
