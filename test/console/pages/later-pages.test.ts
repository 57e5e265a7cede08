import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { ConsolePage } from '../../support/admin/console-browser.js';
import { consoleInBrowser } from '../../support/browser/console-in-browser.js';
import { eventually } from '../../support/eventually.js';
import { startTimeoutMs } from '../../support/service/service.js';

const script = '**/usage-*.js';

describe('a page whose script is loaded when it is opened', function () {
  this.timeout(3 * startTimeoutMs);
  const site = consoleInBrowser();
  let organisationId: string;

  before(async () => {
    organisationId = await site.service.newOrganisation();
  });

  /** The overview of a viewer, and how often each script and each whole page was asked for. */
  async function opened(expected: readonly (number | string)[] = [401]) {
    const found: ConsolePage = await site.open({}, expected);
    const asked: string[] = [];
    found.page.on('request', (request) => {
      // Not the question whether the console answers.
      if (request.method() === 'GET') asked.push(new URL(request.url()).pathname);
    });
    await found.signIn('viewer', organisationId);
    await found.page.getByText('Records scored in').waitFor();
    return { ...found, asked };
  }
  const usageLink = (page: Page) => page.getByRole('link', { name: 'Usage', exact: true });
  const scripts = (asked: readonly string[]) => asked.filter((path) => /^\/usage-\w+\.js$/.test(path));

  it('asks for the script when the pointer or the focus is on its link, once', async () => {
    const { page, asked, close } = await opened();
    expect(scripts(asked)).to.deep.equal([]);
    await usageLink(page).focus();
    await eventually(async () => expect(scripts(asked)).to.have.length(1));
    await usageLink(page).hover();
    await usageLink(page).click();
    await page.getByText('The last twelve months').waitFor();
    expect(scripts(asked)).to.have.length(1);
    await close();
  });

  it('loads the console again, once, when the script is missing after an upgrade, and then says so', async () => {
    const { page, asked, check, close } = await opened([401, 404, 'Failed to load']);
    await page.route(script, (route) => route.fulfill({ status: 404, body: 'gone' }));
    await usageLink(page).click();
    await page.getByRole('alert').filter({ hasText: 'loading the console again did not help' }).waitFor();
    expect(asked.filter((path) => path === '/usage')).to.have.length(1);
    await check('page-missing');
    await page.unroute(script);
    await page.reload();
    await page.getByText('The last twelve months').waitFor();
    await close();
  });

  it('keeps the shell when the console does not answer, and loads the page at the second try', async () => {
    const { page, asked, close } = await opened([401, 'ERR_', 'Failed to load']);
    const isUsage = (url: URL) => /^\/usage(-\w+\.js)?$/.test(url.pathname);
    await page.route(isUsage, (route) => route.abort());
    await usageLink(page).click();
    await page.getByRole('alert').filter({ hasText: 'the console does not answer' }).waitFor();
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    expect(asked.filter((path) => path === '/')).to.have.length(1);
    await page.unroute(isUsage);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('The last twelve months').waitFor();
    await close();
  });
});
