import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { createKey } from '../../shared/admin/organisations/key-actions.js';
import { dayMs, monthOf } from '../../shared/contract/dates.js';
import { callIdGenerator } from '../../shared/contract/identifiers.js';
import { ApiKeyStore } from '../../shared/store/accounts/api-keys.js';
import type { CallDocument } from '../../shared/store/calls/call-documents.js';
import { callsCollection } from '../../shared/store/calls/prediction-segment.js';
import { ModelStore } from '../../shared/store/models/models.js';
import { appearances, type ConsolePage } from '../support/admin/console-browser.js';
import { type FilledOrganisation, filledOrganisation } from '../support/admin/filled-organisation.js';
import { consoleInBrowser } from '../support/browser/console-in-browser.js';
import { eventually } from '../support/eventually.js';
import { documentsOfCall } from '../support/service/prediction-rows.js';
import { startTimeoutMs } from '../support/service/service.js';
import { itInFull } from '../support/tier.js';

const presses = 12;
const closeNatively = `document.querySelector('dialog').close()`;
const isModal = `document.querySelector('dialog').matches(':modal')`;

describe('a dialog of the console', function () {
  this.timeout(3 * startTimeoutMs);
  const site = consoleInBrowser();
  let filled: FilledOrganisation;

  before(async () => {
    filled = await filledOrganisation(site.service);
  });

  async function openAt(address: string, appearance = appearances[0], expected = [401]): Promise<ConsolePage> {
    const opened = await site.open(appearance, expected);
    await opened.signIn('owner', filled.id);
    await opened.page.goto(`${site.service.url}${address}`);
    return opened;
  }

  /** Asks a dialog to close in each way but its own button. */
  async function askToClose(page: Page): Promise<void> {
    for (let press = 0; press < presses; press += 1) await page.keyboard.down('Escape'); // the key is held
    await page.keyboard.up('Escape');
    for (let press = 0; press < presses; press += 1) await page.keyboard.press('Escape');
    await page.mouse.click(2, 2);
    for (let press = 0; press < presses; press += 1) await page.keyboard.press('Escape');
    await page.evaluate(`document.querySelector('dialog').dispatchEvent(new Event('cancel', { cancelable: true }))`);
    // As a browser does that no longer asks, such as by the button "Back" of a phone.
    expect(await page.evaluate(`${closeNatively}, ${isModal}`), 'the browser has closed it').to.equal(false);
    // Not `waitForFunction`: the policy of the page forbids its text.
    await eventually(async () => expect(await page.evaluate(isModal)).to.equal(true));
  }

  it('keeps a new key until the button is pressed, and then another key can be made', async () => {
    const { page, close, check } = await openAt('/keys');
    for (const name of ['First', 'Second']) {
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByLabel('Name').fill(name);
      await page.getByLabel('Name').press('Enter');
      const dialog = page.getByRole('dialog', { name: `Key ${name}` });
      const secret = (await dialog.locator('.secret').textContent()) ?? '';
      expect(secret).to.match(/^leadscore_sk_/);
      await askToClose(page);
      expect(await dialog.locator('.secret').textContent()).to.equal(secret);
      await check('key-kept');
      await dialog.getByRole('button', { name: 'I stored it' }).click();
      await dialog.waitFor({ state: 'detached' });
    }
    await close();
  });

  it('closes in each way when it asks a question, and opens again', async () => {
    const { page, close } = await openAt('/keys');
    const dialog = page.getByRole('dialog', { name: 'Create an API key' });
    for (const way of ['Escape', 'button', 'close']) {
      await page.getByRole('button', { name: 'Create key' }).click();
      await dialog.waitFor();
      if (way === 'Escape') await page.keyboard.press('Escape');
      if (way === 'button') await dialog.getByRole('button', { name: 'Cancel' }).click();
      if (way === 'close') await page.evaluate(closeNatively);
      await dialog.waitFor({ state: 'detached' });
    }
    await close();
  });

  for (const appearance of appearances.filter(({ colorScheme }) => colorScheme === 'light'))
    itInFull(`limits a key at its creation and changes its limits later, at ${appearance.viewport.width}`, async () => {
      const { page, close, check } = await openAt('/keys', appearance, [401, 422]);
      const name = `Limited ${appearance.viewport.width}`;
      const stored = () => site.service.database.collection('api_keys').findOne({ organisation_id: filled.id, name });
      await page.getByRole('button', { name: 'Create key' }).click();
      await page.getByLabel('Name').fill(name);
      await page.getByText('It can score records and report outcomes, and read nothing.').waitFor();
      await page.getByLabel('Expires').selectOption('At the end of a day (UTC)');
      expect(await page.getByRole('button', { name: 'Create key' }).last().isDisabled(), 'without a day').to.equal(
        true,
      );
      await page.getByLabel('Last day').fill('2020-06-30');
      await page.getByLabel('Last day').press('Enter');
      await page.getByText('expires_at must be in the future').waitFor();
      await page.getByLabel('Last day').fill('2090-06-30');
      await check('key-limits');
      await page.getByLabel('Last day').press('Enter');
      await page.getByRole('button', { name: 'I stored it' }).click();
      await page.getByRole('cell', { name: '30 Jun 2090' }).first().waitFor();
      expect(await stored()).to.deep.include({
        scopes: ['score', 'outcomes'],
        expires_at: new Date('2090-07-01T00:00:00Z'),
      });
      await page.getByRole('button', { name: `Change ${name}` }).click();
      const dialog = page.getByRole('dialog', { name: `Change ${name}` });
      expect(await dialog.getByLabel('Last day').inputValue()).to.equal('2090-06-30');
      await dialog.getByLabel('Used by').selectOption('Everything');
      await dialog.getByLabel('Expires').selectOption('Never');
      await check('key-change');
      await dialog.getByRole('button', { name: 'Change key' }).click();
      await dialog.waitFor({ state: 'detached' });
      expect(await stored()).to.not.have.any.keys('scopes', 'expires_at');
      await page.getByRole('button', { name: `Change ${name}` }).click();
      await dialog.getByLabel('Expires').selectOption('In 90 days');
      await dialog.getByRole('button', { name: 'Change key' }).click();
      await dialog.waitFor({ state: 'detached' });
      expect(await stored())
        .to.have.property('expires_at')
        .that.satisfies((at: Date) => at.getTime() > Date.now() + 89 * dayMs);
      const hash = (await stored())?.hash;
      await page.getByRole('button', { name: `Change ${name}` }).click();
      expect(await dialog.getByLabel('Name').inputValue()).to.equal(name);
      await dialog.getByLabel('Name').fill(`${name}, EU`);
      await dialog.getByLabel('Calls a second').fill('250');
      await dialog.getByRole('button', { name: 'Change key' }).click();
      await dialog.waitFor({ state: 'detached' });
      await page
        .getByRole('row', { name: `${name}, EU` })
        .getByText('250 a second')
        .waitFor();
      const renamed = await site.service.database.collection('api_keys').findOne({ name: `${name}, EU` });
      expect(renamed).to.include({ hash, rate_per_second: 250 });
      await close();
    });

  for (const appearance of appearances.filter(({ colorScheme }) => colorScheme === 'light'))
    itInFull(
      `names the key that is pasted, and no key of another organisation, at ${appearance.viewport.width}`,
      async () => {
        const name = `Found ${appearance.viewport.width}`;
        const { secret } = await site.service.act(createKey, { org_id: filled.id, name });
        const beta = await site.service.act(createKey, {
          org_id: await site.service.newOrganisation('Beta'),
          name: 'Of Beta',
        });
        const { page, close, check } = await openAt('/keys', appearance);
        const box = page.getByLabel('Secret of a key');
        for (const [pasted, answer] of [
          [`  "Authorization: Bearer ${secret}"`, `This is ${name}, a live key of`],
          [beta.secret, 'No key of this organisation has this secret.'],
          [secret.slice(0, -1), 'This is no whole key of this service.'],
          ['key_0dKqvXb3JmZ81sUe', 'This is no whole key of this service.'],
        ] as const) {
          await box.fill(pasted);
          await box.press('Enter');
          await page.getByText(answer).waitFor();
          expect(await box.inputValue(), 'the secret is removed from the page').to.equal('');
          expect(await page.content()).to.not.include(beta.name);
          await check(`key-found-${answer.length}`);
        }
        await close();
      },
    );

  itInFull('shows expired keys apart, and makes one valid again', async () => {
    const { key_id: id } = await site.service.act(createKey, { org_id: filled.id, name: 'Ended' });
    await new ApiKeyStore(site.service.database).set(id, { scopes: ['jobs'], expires_at: new Date('2026-07-01') });
    const { page, close, check } = await openAt('/keys');
    await page.getByText('Expired keys (1)').waitFor();
    await check('keys-expired');
    await page.getByRole('button', { name: 'Change Ended' }).click();
    const dialog = page.getByRole('dialog', { name: 'Change Ended' });
    expect(await dialog.getByLabel('Used by').locator('option:checked').textContent()).to.equal('As now: jobs');
    await dialog.getByLabel('Expires').selectOption('In one year');
    await dialog.getByRole('button', { name: 'Change key' }).click();
    await page.getByText('Expired keys (1)').waitFor({ state: 'detached' });
    expect(await site.service.database.collection('api_keys').findOne({ name: 'Ended' })).to.deep.include({
      scopes: ['jobs'],
    });
    await close();
  });

  itInFull('takes a name with two spaces as the page shows it, with one', async () => {
    await site.service.act(createKey, { org_id: filled.id, name: 'Zap  two' });
    const { page, close } = await openAt('/keys');
    await page.getByRole('button', { name: 'Revoke Zap two' }).click();
    const revoke = page.getByRole('button', { name: 'Revoke key' });
    const typed = page.getByLabel('Type Zap two to confirm', { exact: true });
    await typed.fill('Zap');
    expect(await revoke.isDisabled()).to.equal(true);
    await typed.fill('Zap two');
    await revoke.click();
    await page.getByText('Revoked keys (1)').waitFor();
    await close();
  });

  for (const appearance of appearances.filter(({ colorScheme }) => colorScheme === 'light'))
    itInFull(`keeps a new sign-in link, which names its own person, at ${appearance.viewport.width}`, async () => {
      const { page, close, check } = await openAt('/settings', appearance);
      await page.getByLabel('Name of the person').fill('Bob');
      await page.getByRole('button', { name: 'Create link' }).click();
      const dialog = page.getByRole('dialog', { name: 'Link for Bob' });
      await dialog.getByText('Send this link to Bob, who gets the role viewer.').waitFor();
      await askToClose(page);
      await check('link-kept');
      await dialog.getByRole('button', { name: 'I sent it' }).click();
      await page.getByLabel('Name of the person').fill('Carol');
      expect(await page.getByText('Send this link').count()).to.equal(0);
      await close();
    });

  /** Names as a lead may have them, and what a person types. */
  const names = [
    ['two spaces', 'LEAD  two', 'LEAD two'],
    ['a no-break space', 'LEAD\u00a0three', 'LEAD three'],
    ['an invisible character', 'LEAD\u200bfour', 'LEADfour'],
    ['a letter of two characters', 'Jose\u0301', 'Jos\u00e9'],
    ['a mark behind a joiner', 'Jose\u200b\u0301', 'Jos\u00e9'],
    ['no visible character', '\u200b\u200b', 'confirm'],
    ['a filler alone', '\u3164', 'confirm'],
    ['255 characters', 'W'.repeat(255), 'W'.repeat(255)],
  ] as const;
  for (const [words, crmId, typed] of names)
    itInFull(`takes the name of a lead with ${words}`, async () => {
      await addLead(crmId);
      const { page, close } = await openAt(`/leads/${encodeURIComponent(crmId)}`);
      await page.getByRole('button', { name: 'Erase person' }).click();
      const dialog = page.getByRole('dialog');
      const erase = dialog.getByRole('button', { name: 'Erase person' });
      expect(await erase.isDisabled()).to.equal(true);
      await dialog.getByRole('textbox').fill(typed);
      await erase.click();
      await page.getByRole('heading', { name: 'Find a lead' }).waitFor();
      await close();
    });

  /** A call that scored one lead. */
  async function addLead(crmId: string): Promise<void> {
    const [model] = await new ModelStore(site.service.database).list(filled.id);
    const at = new Date();
    const ledger = { bucket: 'live', month: monthOf(at.getTime()), records: 1 } as const;
    const scoredBy = { model: model?._id ?? '', version: model?.version ?? '' };
    const call = { _id: callIdGenerator()(at.getTime(), filled.id), org: filled.id, at, ...ledger, ...scoredBy };
    await site.service.database.collection<CallDocument>(callsCollection).insertMany(documentsOfCall(call, [crmId]));
  }
});
