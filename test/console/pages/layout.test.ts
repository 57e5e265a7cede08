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
