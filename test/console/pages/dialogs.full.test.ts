import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { ConsolePage } from '../../support/admin/console-browser.js';
import { type FilledOrganisation, filledOrganisation } from '../../support/admin/filled-organisation.js';
import { consoleInBrowser } from '../../support/browser/console-in-browser.js';
import { layoutFaults, layoutWidths } from '../../support/browser/layout-faults.js';
import { startTimeoutMs } from '../../support/service/service.js';

type Step = readonly [name: string, address: string, press: readonly string[]];

describe('dialogs, hints and menus of the console', function () {
  this.timeout(3 * startTimeoutMs);
  const site = consoleInBrowser();
  let filled: FilledOrganisation;

  before(async () => {
    filled = await filledOrganisation(site.service);
  });

  const isOpen = (page: Page) => page.locator('dialog[open], [popover]:popover-open').first().waitFor();

  /** Opens each by its buttons, and measures it at each width. */
  async function faultsOf({ page, check }: ConsolePage, steps: readonly Step[]) {
    const found: Record<string, readonly string[]> = {};
    for (const [name, address, press] of steps) {
      await page.setViewportSize({ width: 1440, height: 900 });
      await page.goto(`${site.service.url}${address}`);
      for (const button of press) await page.getByRole('button', { name: button }).first().click();
      await isOpen(page);
      await check(name);
      for (const width of layoutWidths) {
        const faults = await layoutFaults(page, width);
        if (faults.length > 0) found[`${name} at ${width}`] = faults;
      }
    }
    return found;
  }

  it('lie within the window at five widths, with all their text and controls', async () => {
    const opened = await site.open();
    await opened.signIn('owner', filled.id);
    const faults = await faultsOf(opened, [
      ['key-create', '/keys', ['Create key']],
      ['key-change', '/keys', ['Change HubSpot']],
      ['key-revoke', '/keys', ['Revoke HubSpot']],
      ['lead-erase', `/leads/${filled.crmId}`, ['Erase person']],
      ['job-cancel', `/jobs/${filled.jobId}`, ['Cancel']],
      ['model-rename', `/models/${filled.model._id}`, ['Rename']],
      ['model-hint', `/models/${filled.model._id}`, ['Statistical terms']],
    ]);
    expect(faults).to.deep.equal({});
    await opened.close();
  });

  it('lie within the window at five widths for operators, with all their text and controls', async () => {
    const opened = await site.open();
    await opened.signIn('operator');
    const faults = await faultsOf(opened, [
      ['org-create', '/orgs', ['Create organisation']],
      ['org-suspend', `/o/${filled.id}/settings`, ['Suspend']],
    ]);
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
