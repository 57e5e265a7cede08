import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { appearances, openBrowser } from '../../support/admin/console-browser.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';

describe('the page /docs in a browser', function () {
  this.timeout(2 * startTimeoutMs);
  let service: RunningService;
  let own: TestWorkspace;
  let browser: Browser;

  before(async function () {
    browser = await openBrowser(this);
    service = await runningService();
    own = await workspace(service);
  });
  after(() => browser?.close());

  /** Opens the page; notes errors of scripts, violations of the CSP, and requests to elsewhere that failed or not. */
  async function open(options: object): Promise<{ readonly page: Page; readonly problems: string[] }> {
    const page = await browser.newPage({ reducedMotion: 'reduce', ...options });
    const problems: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('requestfailed', (request) => problems.push(request.url()));
    page.on('request', (request) => {
      if (!request.url().startsWith(service.url(0)) && !request.url().startsWith('data:')) problems.push(request.url());
    });
    await page.goto(`${service.url(0)}/docs`);
    await page.locator('.opblock').first().waitFor();
    return { page, problems };
  }

  const itemsOf = (page: Page) => page.locator('.menu li:visible a');

  for (const appearance of appearances) {
    it(`leads from the menu to an operation with its samples, ${appearance.colorScheme} at ${appearance.viewport.width}`, async () => {
      const { page, problems } = await open(appearance);
      await page.getByRole('link', { name: 'Score a batch of records', exact: false }).first().click();
      const operation = page.locator('#operations-Scoring-scoreRecords');
      const sample = operation.locator('.samples pre').first();
      for (const [language, part] of [
        ['curl', 'curl -sS -X POST "$LEADSCORE_URL/v1/score"'],
        ['Node', 'await fetch('],
        ['Python', 'urllib.request.urlopen('],
      ] as const) {
        await operation.getByRole('button', { name: language, exact: true }).click();
        expect(await sample.textContent()).to.include(part);
      }
      expect(await operation.locator('.samples pre').last().textContent()).to.include('"records_scored"');
      const [samples, parameters] = await Promise.all(
        ['.samples', '.opblock-section'].map((part) => operation.locator(part).first().boundingBox()),
      );
      const isBeside = (samples?.x ?? 0) >= (parameters?.x ?? 0) + (parameters?.width ?? 0);
      expect(isBeside, 'samples beside the parameters').to.equal(appearance.viewport.width > 1_000);
      const excess = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
      expect(excess, 'pixels beyond the width of the page').to.equal(0);
      expect(problems).to.deep.equal([]);
      await page.close();
    });
  }

  it('finds operations by words of their paths and members, and says when no operation matches', async () => {
    const { page, problems } = await open({});
    const all = await itemsOf(page).count();
    await page.getByLabel('Search').fill('converted');
    expect(await itemsOf(page).allInnerTexts())
      .to.have.length(1)
      .and.satisfy(([one]: string[]) => /outcomes/.test(one ?? ''));
    await page.getByLabel('Search').fill('/v1/jobs pause');
    expect(await itemsOf(page).count()).to.be.within(1, all - 1);
    await page.getByLabel('Search').fill('no such word');
    expect(await itemsOf(page).count()).to.equal(0);
    await page.getByText('No operation has this word.').waitFor();
    await page.getByLabel('Search').fill('');
    expect(await itemsOf(page).count()).to.equal(all);
    expect(problems).to.deep.equal([]);
    await page.close();
  });

  it('sends no X-Request-Id and no other optional value by "Try it out"', async () => {
    const { page, problems } = await open({ extraHTTPHeaders: { authorization: `Bearer ${own.live.secret}` } });
    await page.locator('.menu a[data-operation=listJobs]').click();
    const operation = page.locator('#operations-Bulk_jobs-listJobs');
    await operation.getByRole('button', { name: 'Try it out' }).click();
    const [sent] = await Promise.all([
      page.waitForRequest((request) => request.url().includes('/v1/jobs')),
      operation.getByRole('button', { name: 'Execute' }).click(),
    ]);
    expect(sent.headers()).to.not.have.property('x-request-id');
    expect((await sent.response())?.status()).to.equal(200);
    expect(new URL(sent.url()).searchParams.has('cursor')).to.equal(false);
    expect(problems).to.deep.equal([]);
    await page.close();
  });
});
