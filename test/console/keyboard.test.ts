import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { ConsolePage } from '../support/admin/console-browser.js';
import { type FilledOrganisation, filledOrganisation } from '../support/admin/filled-organisation.js';
import { consoleInBrowser } from '../support/browser/console-in-browser.js';
import { focusComes, focusedName, pressOn, tabTo } from '../support/browser/keyboard.js';
import { eventually } from '../support/eventually.js';
import { startTimeoutMs } from '../support/service/service.js';
import { itInFull } from '../support/tier.js';

describe('the console by keyboard alone', function () {
  this.timeout(3 * startTimeoutMs);
  const site = consoleInBrowser();
  let filled: FilledOrganisation;
  let opened: ConsolePage;
  let page: Page;

  before(async () => {
    filled = await filledOrganisation(site.service);
    opened = await site.open();
    page = opened.page;
  });

  const press = (name: string, key?: string) => pressOn(page, name, key);
  async function choose(menu: string, title = menu): Promise<void> {
    await press(menu);
    await eventually(async () =>
      expect(await focusedName(page), 'the title of the page has the focus').to.equal(title),
    );
  }

  it('signs in, creates a key, stores it and revokes it', async () => {
    await page.goto(`${site.service.url}/login#${await site.service.newLink('owner', filled.id)}`);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await press('Sign in');
    await page.locator('.shell').waitFor();
    await choose('API keys');
    await page.getByText(filled.keyName).waitFor();
    await press('Create key');
    await page.getByRole('dialog', { name: 'Create an API key' }).waitFor();
    await tabTo(page, 'Name');
    await page.keyboard.type('n8n');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Key n8n' }).waitFor();
    await press('I stored it');
    await page.getByRole('cell', { name: 'n8n', exact: true }).waitFor();
    await press('Revoke n8n');
    await tabTo(page, 'Type n8n to confirm');
    await page.keyboard.type('n8n');
    await page.keyboard.press('Enter');
    await page.getByText('Revoked keys (1)').waitFor();
  });

  it('reaches the first button of a page in two presses, by the button that skips the menu', async () => {
    await page.reload();
    await page.getByRole('button', { name: 'Create key' }).waitFor();
    await page.keyboard.press('Tab');
    expect(await focusedName(page)).to.equal('Skip to the page');
    expect(await page.getByRole('button', { name: 'Skip to the page' }).isVisible()).to.equal(true);
    await opened.check('skip-link');
    await page.keyboard.press('Enter');
    expect(await focusedName(page)).to.equal('API keys');
    await page.keyboard.press('Tab');
    expect(await focusedName(page)).to.equal('Create key');
  });

  itInFull('switches a Live API off and on', async () => {
    await choose('Models');
    const off = () => page.getByRole('switch', { checked: false }).count();
    await page.getByRole('switch').first().waitFor();
    await press('Live API', 'Space');
    const name = (await page.locator('main li strong').first().textContent()) ?? '';
    await tabTo(page, `Type ${name} to confirm`);
    await page.keyboard.type(name);
    await page.keyboard.press('Enter');
    await eventually(async () => expect(await off()).to.equal(1));
    await press('Live API', 'Space');
    await eventually(async () => expect(await off()).to.equal(0));
  });

  itInFull('finds a lead and erases it', async () => {
    await choose('Leads');
    await tabTo(page, 'crm_id begins with');
    await page.keyboard.type('LEAD');
    await page.getByRole('link', { name: filled.crmId }).waitFor();
    await press(filled.crmId);
    await page.getByText('Changed fields').waitFor();
    await press('Erase person…');
    await tabTo(page, `Type ${filled.crmId} to confirm`);
    await page.keyboard.type(filled.crmId);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Find a lead' }).waitFor();
  });

  itInFull('lets the service score the stored leads of a model again, and turns that off', async () => {
    await page.goto(`${site.service.url}/models/${filled.model._id}`);
    await page.getByText('Off: they keep their scores').waitFor();
    await press('Score them again…');
    const dialog = page.getByRole('dialog', { name: 'Score stored leads again' });
    await dialog.waitFor();
    await tabTo(page, 'When');
    await page.keyboard.type('Each night');
    await tabTo(page, 'Leads at most');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('700');
    await page.keyboard.press('Enter');
    await page.getByText('At most 700 leads, each night (UTC)').waitFor();
    await focusComes(page.getByRole('button', { name: 'Change…' }));
    await press('Turn off');
    await page.getByText('Off: they keep their scores').waitFor();
    await opened.close();
  });

  itInFull('orders the deletion of an organisation, and takes it back', async () => {
    const name = 'Goes away';
    const id = await site.service.newOrganisation(name);
    const operator = await site.open();
    const { page: settings } = operator;
    await operator.signIn('operator');
    await settings.goto(`${site.service.url}/o/${id}/settings`);
    await settings.getByRole('button', { name: 'Delete…' }).waitFor();
    await pressOn(settings, 'Delete…');
    await settings.getByRole('dialog', { name: `Delete ${name}?` }).waitFor();
    await tabTo(settings, 'Days until the removal');
    await settings.keyboard.press('Control+A');
    await settings.keyboard.type('3');
    await tabTo(settings, `Type ${name} to confirm`);
    await settings.keyboard.type(name);
    await settings.keyboard.press('Enter');
    const undelete = settings.getByRole('button', { name: 'Undelete' });
    await undelete.waitFor();
    await focusComes(undelete);
    await settings.keyboard.press('Enter');
    await settings.getByRole('button', { name: 'Delete…' }).waitFor();
    await operator.close();
  });
});
