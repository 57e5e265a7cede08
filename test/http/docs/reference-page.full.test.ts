import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { exampleModelId } from '../../../api/openapi/examples.js';
import { appearances, openBrowser } from '../../support/admin/console-browser.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';

/** With all errors unfolded an operation had 12,484. */
const maxOpenedPixels = 5_000;

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
      .to.have.length(2)
      .and.satisfy((found: string[]) => found.every((one) => /outcome/.test(one)));
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

  /** Authorizes the page with a key. */
  async function authorize(page: Page, secret: string): Promise<void> {
    await page.locator('button.authorize').first().click();
    const dialog = page.locator('.dialog-ux');
    await dialog.locator('input[type=text], input[type=password]').first().fill(secret);
    await dialog.locator('button.authorize').first().click();
    await dialog.locator('button.btn-done').first().click();
  }

  it('folds the errors of an operation, and names their further headers alone', async () => {
    const { page, problems } = await open({ viewport: { width: 1440, height: 900 } });
    await page.locator('.menu a[data-operation=scoreRecords]').click();
    const operation = page.locator('#operations-Scoring-scoreRecords');
    const folds = operation.locator('.folded');
    await folds.first().waitFor();
    expect(await folds.allInnerTexts()).to.deep.equal([
      '400 record_limit_exceeded, bad_request',
      '401 invalid_api_key',
      '402 workspace_suspended, expired_read_only',
      '403 api_disabled, insufficient_scope',
      '404 model_not_found',
      '409 deploy_blocked',
      '422 bad_request',
      '429 rate_limited, quota_exceeded',
      '500 internal_error',
    ]);
    expect((await operation.boundingBox())?.height, 'pixels').to.be.below(maxOpenedPixels);
    await folds.nth(7).locator('summary').click();
    const limited = folds.nth(7);
    await limited.getByText('Too many requests per second for the key').first().waitFor();
    const headers = await operation.locator('.headers tbody td:first-child').allInnerTexts();
    expect(headers).to.deep.equal([
      'X-Request-Id',
      'RateLimit',
      'RateLimit-Policy',
      'Idempotent-Replayed',
      'Retry-After',
    ]);
    expect(problems).to.deep.equal([]);
    await page.close();
  });

  for (const [operationId, id] of [
    ['scoreRecords', 'Scoring-scoreRecords'],
    ['scoreWebhook', 'Scoring-scoreWebhook'],
    ['getModel', 'Models-getModel'],
  ] as const) {
    it(`sends a model of the key and values that its fields take by "Try it out" of ${operationId}`, async () => {
      const { page, problems } = await open({ viewport: { width: 390, height: 900 } });
      await page.locator(`.menu a[data-operation=${operationId}]`).click();
      const operation = page.locator(`#operations-${id}`);
      await operation.locator('.samples').waitFor();
      await authorize(page, own.test.secret);
      await page.getByRole('status').filter({ hasText: own.model._id }).waitFor();
      await operation.getByRole('button', { name: 'Try it out' }).click();
      const [sent] = await Promise.all([
        page.waitForRequest((request) => request.url().includes('/v1/') && request.method() !== 'OPTIONS'),
        operation.getByRole('button', { name: 'Execute' }).click(),
      ]);
      expect((await sent.response())?.status(), sent.postData() ?? sent.url()).to.equal(200);
      expect(sent.postData() ?? sent.url()).to.include(own.model._id);
      for (const language of ['curl', 'Node', 'Python']) {
        await operation.getByRole('button', { name: language, exact: true }).click();
        const sample = await operation.locator('.samples pre').first().textContent();
        expect(sample, language).to.include(own.model._id);
        // Its fields come from the plugin: the example has none of 10.
        if (operationId !== 'getModel') expect(sample, language).to.match(/"?company_size"?: 10\b/);
      }
      expect(problems).to.deep.equal([]);
      await page.close();
    });
  }

  it('says why a key fills in nothing, and has the examples again after Logout', async () => {
    const { page } = await open({});
    const status = page.locator('#filled');
    await authorize(page, 'leadscore_sk_test_wrong');
    await status.filter({ hasText: 'has examples only, which your key cannot score. The API key' }).waitFor();
    const logOut = async () => {
      await page.locator('button.authorize').first().click();
      await page.locator('.dialog-ux button', { hasText: 'Logout' }).first().click();
      await page.locator('.dialog-ux button.btn-done').first().click();
    };
    await logOut();
    await authorize(page, own.live.secret);
    await status.filter({ hasText: own.model._id }).waitFor();
    await logOut();
    expect(await status.isHidden()).to.equal(true);
    await page.locator('.menu a[data-operation=scoreRecords]').click();
    const sample = page.locator('#operations-Scoring-scoreRecords .samples pre').first();
    expect(await sample.textContent()).to.include(exampleModelId);
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
