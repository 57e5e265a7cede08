import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { ConsolePage } from '../support/admin/console-browser.js';
import { type FilledOrganisation, filledOrganisation } from '../support/admin/filled-organisation.js';
import { consoleInBrowser } from '../support/browser/console-in-browser.js';
import { eventually } from '../support/eventually.js';
import { startTimeoutMs } from '../support/service/service.js';
import { itInFull } from '../support/tier.js';

/** More presses than any page of the test needs. */
const maxPresses = 80;

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

  /** The name of the element with the focus, as far as these tests need it. */
  const focused = (): Promise<string> =>
    page.evaluate(`(() => {
      const { activeElement } = document;
      return activeElement.ariaLabel ?? activeElement.labels?.[0]?.textContent ?? activeElement.textContent;
    })()`);

  /** Presses Tab until an element with this name has the focus. */
  async function tabTo(name: string): Promise<void> {
    const passed: string[] = [];
    for (let press = 0; press < maxPresses; press += 1) {
      const now = (await focused()).trim();
      if (now === name) return;
      passed.push(now.slice(0, 30));
      await page.keyboard.press('Tab');
    }
    throw new Error(`Tab does not reach ${name}: ${passed.join(' | ')}`);
  }
  async function press(name: string, key = 'Enter'): Promise<void> {
    await tabTo(name);
    await page.keyboard.press(key);
  }
  async function choose(menu: string, title = menu): Promise<void> {
    await press(menu);
    await eventually(async () => expect(await focused(), 'the title of the page has the focus').to.equal(title));
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
    await tabTo('Name');
    await page.keyboard.type('n8n');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Key n8n' }).waitFor();
    await press('I stored it');
    await page.getByRole('cell', { name: 'n8n', exact: true }).waitFor();
    await press('Revoke n8n');
    await tabTo('Type n8n to confirm');
    await page.keyboard.type('n8n');
    await page.keyboard.press('Enter');
    await page.getByText('Revoked keys (1)').waitFor();
  });

  it('reaches the first button of a page in two presses, by the button that skips the menu', async () => {
    await page.reload();
    await page.getByRole('button', { name: 'Create key' }).waitFor();
    await page.keyboard.press('Tab');
    expect(await focused()).to.equal('Skip to the page');
    expect(await page.getByRole('button', { name: 'Skip to the page' }).isVisible()).to.equal(true);
    await opened.check('skip-link');
    await page.keyboard.press('Enter');
    expect(await focused()).to.equal('API keys');
    await page.keyboard.press('Tab');
    expect(await focused()).to.equal('Create key');
  });

  itInFull('switches a Live API off and on', async () => {
    await choose('Models');
    const off = () => page.getByRole('switch', { checked: false }).count();
    await page.getByRole('switch').first().waitFor();
    await press('Live API', 'Space');
    const name = (await page.locator('main li strong').first().textContent()) ?? '';
    await tabTo(`Type ${name} to confirm`);
    await page.keyboard.type(name);
    await page.keyboard.press('Enter');
    await eventually(async () => expect(await off()).to.equal(1));
    await press('Live API', 'Space');
    await eventually(async () => expect(await off()).to.equal(0));
  });

  itInFull('finds a lead and erases it', async () => {
    await choose('Leads');
    await tabTo('crm_id begins with');
    await page.keyboard.type('LEAD');
    await page.getByRole('link', { name: filled.crmId }).waitFor();
    await press(filled.crmId);
    await page.getByText('Changed fields').waitFor();
    await press('Erase person…');
    await tabTo(`Type ${filled.crmId} to confirm`);
    await page.keyboard.type(filled.crmId);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Find a lead' }).waitFor();
    await opened.close();
  });
});
