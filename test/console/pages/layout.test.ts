import { expect } from 'chai';
import type { Browser } from 'playwright-core';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { openBrowser, openPage } from '../../support/admin/console-browser.js';
import type { ConsoleService } from '../../support/admin/console-service.js';
import { sharedConsole } from '../../support/admin/shared-console.js';
import { layoutFaults } from '../../support/browser/layout-faults.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { startTimeoutMs } from '../../support/service/service.js';

describe('the page of models', function () {
  this.timeout(3 * startTimeoutMs);
  let service: ConsoleService;
  let browser: Browser;

  before(async function () {
    browser = await openBrowser(this);
    service = await sharedConsole();
  });

  it('is measured by a tool that finds controls outside of their card, cut text, and what covers another', async () => {
    const page = await browser.newPage();
    const card = (content: string) =>
      `<div class="card" style="position: relative; width: 200px; height: 80px; margin: 20px">${content}</div>`;
    const at = (left: number, content: string, more = '') =>
      `<span style="position: absolute; left: ${left}px; top: 5px; ${more}">${content}</span>`;
    const whole = card(at(5, 'one') + at(80, 'two') + at(150, '<button>go</button>'));
    await page.setContent(whole);
    expect(await layoutFaults(page, 1280)).to.deep.equal([]);
    const outside = card(at(190, '<button>outside</button>'));
    const cut = card('<p style="width: 40px; overflow: hidden; white-space: nowrap">a text that is cut</p>');
    const over = card(at(5, 'below') + at(10, 'above'));
    const under = card(at(5, 'hidden') + at(5, '<button>button</button>'));
    await page.setContent(outside + cut + over + under);
    const faults = await layoutFaults(page, 1280);
    for (const fault of [
      'outside of its card: button "outside"',
      'cut: "a text that is cut"',
      'over each other: "below" and "above"',
      'under button "button": "hidden"',
    ])
      expect(faults).to.include(fault);
    await page.close();
  });

  it('keeps the Live API switch of a model that is too early in its card, and cuts and covers no text', async () => {
    const organisationId = await service.newOrganisation();
    const bundle = checkBundle(sampleBundle({ name: 'X Education lead conversion' }));
    await createModel(service.database, { organisationId, bundle, now: new Date() });
    const { page, signIn, close } = await openPage(browser, service);
    await signIn('owner', organisationId);
    await page.goto(`${service.url}/models`);
    await page.getByText('too early', { exact: true }).waitFor();
    await page.getByRole('switch', { name: 'Live API' }).waitFor();
    expect(await layoutFaults(page, 1280)).to.deep.equal([]);
    await close();
  });
});
