import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { appearances, type ConsolePage } from '../../support/admin/console-browser.js';
import { type FilledOrganisation, filledOrganisation } from '../../support/admin/filled-organisation.js';
import { consoleInBrowser } from '../../support/browser/console-in-browser.js';
import { focusComes, placesByTab, pressOn, tabTo } from '../../support/browser/keyboard.js';
import { layoutFaults, layoutWidths } from '../../support/browser/layout-faults.js';
import { startTimeoutMs } from '../../support/service/service.js';

type Step = readonly [name: string, address: string, button: string];

describe('dialogs, hints and menus of the console', function () {
  this.timeout(3 * startTimeoutMs);
  const site = consoleInBrowser();
  let filled: FilledOrganisation;

  before(async () => {
    filled = await filledOrganisation(site.service);
  });

  const ofOwner = (): readonly Step[] => [
    ['key-create', '/keys', 'Create key'],
    ['key-change', '/keys', 'Change HubSpot'],
    ['key-revoke', '/keys', 'Revoke HubSpot'],
    ['lead-erase', `/leads/${filled.crmId}`, 'Erase person'],
    ['job-cancel', `/jobs/${filled.jobId}`, 'Cancel'],
    ['model-rename', `/models/${filled.model._id}`, 'Rename'],
    ['model-rescoring', `/models/${filled.model._id}`, 'Score them again'],
    ['model-hint', `/models/${filled.model._id}`, 'Statistical terms'],
  ];
  const ofOperator = (): readonly Step[] => [
    ['org-create', '/orgs', 'Create organisation'],
    ['org-suspend', `/o/${filled.id}/settings`, 'Suspend'],
    ['org-delete', `/o/${filled.id}/settings`, 'Delete'],
  ];
  const openOne = (page: Page) => page.locator('dialog[open], [popover]:popover-open').first();

  async function openForm(page: Page): Promise<void> {
    await page.goto(`${site.service.url}/jobs/new`);
    const choice = page.getByLabel('Leads', { exact: true });
    await choice.waitFor();
    await tabTo(page, choice);
    await page.keyboard.type('that are stored');
    await page.getByRole('heading', { name: 'Score stored leads' }).waitFor();
  }

  /** Opens each by its button, and measures it at each width. */
  async function faultsOf({ page }: ConsolePage, steps: readonly Step[]) {
    const found: Record<string, readonly string[]> = {};
    for (const [name, address, button] of steps) {
      await page.setViewportSize({ width: 1440, height: 900 });
      await page.goto(`${site.service.url}${address}`);
      await page.getByRole('button', { name: button }).first().click();
      await openOne(page).waitFor();
      for (const width of layoutWidths) {
        const faults = await layoutFaults(page, width);
        if (faults.length > 0) found[`${name} at ${width}`] = faults;
      }
    }
    return found;
  }

  /** Does all with the keyboard. A hint leaves the focus where it is. */
  async function openByKeys({ page, check }: ConsolePage, steps: readonly Step[]): Promise<void> {
    for (const [name, address, button] of steps) {
      await page.goto(`${site.service.url}${address}`);
      const opener = page.getByRole('button', { name: button }).first();
      await opener.waitFor();
      await pressOn(page, opener);
      await openOne(page).waitFor();
      await check(name);
      if ((await page.locator('dialog[open]').count()) > 0) {
        const { reached, all } = await placesByTab(page);
        expect(reached, `controls of ${name} by Tab, and by Shift and Tab`).to.deep.equal([all, all]);
      }
      await page.keyboard.press('Escape');
      await openOne(page).waitFor({ state: 'detached' });
      await focusComes(opener);
    }
  }

  for (const appearance of appearances) {
    const words = `${appearance.colorScheme} at ${appearance.viewport.width}`;

    it(`open by the keyboard, keep the focus, close by Escape and return it, ${words}`, async () => {
      const owner = await site.open(appearance);
      await owner.signIn('owner', filled.id);
      await openByKeys(owner, ofOwner());
      await owner.close();
      const operator = await site.open(appearance);
      await operator.signIn('operator');
      await openByKeys(operator, ofOperator());
      await operator.close();
    });

    it(`show the form of stored leads by the keyboard, with all its text and controls, ${words}`, async () => {
      const { page, signIn, check, close } = await site.open(appearance);
      await signIn('owner', filled.id);
      await openForm(page);
      await check('new-job-stored');
      const { width } = appearance.viewport;
      expect(await layoutFaults(page, width)).to.deep.equal([]);
      await pressOn(page, 'Reasons in the results', 'Space');
      await page.getByRole('switch', { name: 'Reasons in the results', checked: true }).waitFor();
      await tabTo(page, 'Score these leads again');
      await close();
    });
  }

  it('lie within the window at five widths, with all their text and controls', async () => {
    const opened = await site.open();
    await opened.signIn('owner', filled.id);
    const faults = await faultsOf(opened, ofOwner());
    expect(faults).to.deep.equal({});
    await opened.close();
  });

  it('lie within the window at five widths for operators, with all their text and controls', async () => {
    const opened = await site.open();
    await opened.signIn('operator');
    const faults = await faultsOf(opened, ofOperator());
    const { page } = opened;
    const found: Record<string, readonly string[]> = { ...faults };
    await page.goto(`${site.service.url}/o/${filled.id}/keys`);
    for (const width of layoutWidths) {
      await page.setViewportSize({ width, height: 900 });
      const menu = page.getByRole('button', { name: 'Menu', exact: true });
      if ((await menu.isVisible()) && (await menu.getAttribute('aria-expanded')) === 'false') await menu.click();
      const sides = await layoutFaults(page, width);
      await page.getByRole('button', { name: /^Organisation/ }).click();
      await page.getByRole('navigation', { name: 'Organisations' }).getByText('All organisations').waitFor();
      const faultsOfMenu = [...sides, ...(await layoutFaults(page, width))];
      if (faultsOfMenu.length > 0) found[`menu at ${width}`] = faultsOfMenu;
      await page.keyboard.press('Escape');
    }
    expect(found).to.deep.equal({});
    await opened.close();
  });
});
