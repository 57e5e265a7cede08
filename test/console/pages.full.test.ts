import { expect } from 'chai';
import { addRefusedCalls } from '../../shared/messages/refused-calls.js';
import { appearances, type ConsolePage, viewerPages } from '../support/admin/console-browser.js';
import { consoleService } from '../support/admin/console-service.js';
import { type FilledOrganisation, filledOrganisation } from '../support/admin/filled-organisation.js';
import { consoleInBrowser } from '../support/browser/console-in-browser.js';
import { layoutFaults, layoutWidths } from '../support/browser/layout-faults.js';
import { startTimeoutMs } from '../support/service/service.js';

const maxFirstLoadBytes = 120_000;
/** Addresses of the pages of an organisation, and a text that appears when each has loaded. */
const pages = [
  ['overview', '/', 'Records scored in'],
  ['models', '/models', 'Upload a bundle'],
  ['leads', '/leads', 'Find a lead'],
  ['jobs', '/jobs', 'All jobs'],
  ['new-job', '/jobs/new', 'Leads and model'],
  ['outcomes', '/outcomes', 'Gates of each model'],
  ['playground', '/playground', 'The same call from your code'],
  ['keys', '/keys', 'Valid keys'],
  ['crm', '/crm', '3. Watch calls arrive'],
  ['refused-calls', '/refused-calls', 'Correct the problem that the message names'],
  ['usage', '/usage', 'The last twelve months'],
  ['settings', '/settings', 'Sign-in links'],
  ['sessions', '/sessions', 'this browser'],
  ['audit', '/audit', 'Changes'],
] as const;

describe('the pages of the console', function () {
  this.timeout(3 * startTimeoutMs);
  const site = consoleInBrowser(consoleService);
  let filled: FilledOrganisation;
  let emptyId: string;

  before(async () => {
    filled = await filledOrganisation(site.service);
    emptyId = await site.service.newOrganisation();
    const key = await site.service.database.collection<{ _id: string }>('api_keys').findOne({ name: filled.keyName });
    const refused = { keyId: key?._id ?? '', code: 'bad_request', status: 422, route: 'POST /v1/score' };
    const calls = [1, 2, 3].map((index) => ({ ...refused, atMs: Date.now(), requestId: `a-request-${index}` }));
    await addRefusedCalls(site.service.redis, filled.id, calls);
  });
  after(async () => {
    await site.service?.leave();
  });

  async function open({ page, check }: ConsolePage, [name, address, text]: readonly [string, string, string]) {
    await page.goto(`${site.service.url}${address}`);
    await page.getByText(text, { exact: false }).first().waitFor();
    await check(name);
  }

  for (const appearance of appearances) {
    const words = `${appearance.colorScheme} at ${appearance.viewport.width}`;

    it(`sign in and load less than 120 kB, ${words}`, async () => {
      const { page, loadedBytes, check, close } = await site.open(appearance);
      await page.goto(`${site.service.url}/login#${await site.service.newLink('owner', emptyId)}`);
      await page.getByRole('heading', { name: 'Sign in as Ada?' }).waitFor();
      await check('sign-in');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText('No models yet').waitFor();
      await check('overview-empty');
      expect(loadedBytes()).to.be.within(1, maxFirstLoadBytes);
      await close();
    });

    it(`show the data of an organisation without a violation, ${words}`, async () => {
      const opened = await site.open(appearance);
      await opened.signIn('owner', filled.id);
      for (const each of pages) await open(opened, each);
      const { page, check } = opened;
      await page.goto(`${site.service.url}/keys`);
      await page.getByText(filled.keyName).waitFor(); // markup is shown as text
      await open(opened, ['model', `/models/${filled.model._id}`, 'Conversion by score']);
      await page.getByText('lead_source unseen in 40 %').waitFor();
      await page.getByRole('cell', { name: 'SaaS <img src=x onerror=alert(1)> (40)' }).waitFor();
      for (const summary of await page.getByText('Show as table').all()) await summary.click();
      await check('model-tables');
      await open(opened, ['job', `/jobs/${filled.jobId}`, 'Paused: The month has no room']);
      await open(opened, ['lead', `/leads/${filled.crmId}`, 'Changed fields']);
      await page.goto(`${site.service.url}/leads`);
      await page.getByLabel('crm_id begins with').fill('LEAD');
      const row = page.getByRole('row').filter({ hasText: filled.crmId });
      await row.getByRole('img', { name: 'Last scores, oldest first: 40, 60, 80' }).waitFor();
      expect(await row.getByRole('cell').nth(1).textContent()).to.equal('80');
      expect(await row.getByRole('cell').nth(4).textContent()).to.equal(
        `${filled.model.name}, ${filled.model.version}`,
      );
      await check('leads-found');
      await page.getByLabel('crm_id begins with').fill('no such lead');
      await page.getByText('A test key stores no scores').waitFor();
      await check('leads-none');
      await opened.close();
    });

    it(`show an empty organisation without a violation, ${words}`, async () => {
      const opened = await site.open(appearance);
      await opened.signIn('owner', emptyId);
      await open(opened, ['models-empty', '/models', 'No models yet']);
      await open(opened, ['playground-empty', '/playground', 'No models yet']);
      await open(opened, ['jobs-empty', '/jobs', 'No jobs yet']);
      await open(opened, ['new-job-empty', '/jobs/new', 'No models yet']);
      await open(opened, ['refused-calls-empty', '/refused-calls', 'No refused calls']);
      await open(opened, ['keys-empty', '/keys', 'No valid key']);
      await open(opened, ['crm-empty', '/crm', 'No counted call yet']);
      await opened.close();
    });

    it(`show all organisations and the queues to an operator without a violation, ${words}`, async () => {
      const opened = await site.open(appearance);
      await opened.signIn('operator');
      await open(opened, ['orgs', '/orgs', 'Page 1']);
      await open(opened, ['fleet', '/fleet', 'All organisations']);
      await open(opened, ['operator-settings', `/o/${filled.id}/settings`, 'Own limit']);
      await opened.close();
    });
  }

  /** The faults of some pages by page and width. Charts are measured with their tables too. */
  async function faultsOf({ page }: ConsolePage, of: readonly (readonly [string, string, string])[]) {
    const found: Record<string, readonly string[]> = {};
    for (const [name, address, text] of of) {
      await page.goto(`${site.service.url}${address}`);
      await page.getByText(text).first().waitFor();
      await page.waitForLoadState('networkidle');
      for (const summary of await page.getByText('Show as table').all()) await summary.click();
      for (const width of layoutWidths) {
        const faults = await layoutFaults(page, width);
        if (faults.length > 0) found[`${name} at ${width}`] = faults;
      }
    }
    return found;
  }

  it('keep controls in their cards, and cut and cover no text, at five widths', async () => {
    const opened = await site.open();
    await opened.signIn('owner', filled.id);
    const faults = await faultsOf(opened, [
      ...pages,
      ['model', `/models/${filled.model._id}`, 'Conversion by score'],
      ['job', `/jobs/${filled.jobId}`, 'Paused: The month has no room'],
      ['lead', `/leads/${filled.crmId}`, 'Changed fields'],
    ]);
    expect(faults).to.deep.equal({});
    await opened.close();
  });

  it('keep controls in their cards, and cut and cover no text, of an empty organisation and of operators', async () => {
    const opened = await site.open();
    await opened.signIn('operator');
    const faults = await faultsOf(opened, [
      ['orgs', '/orgs', 'Page 1'],
      ['fleet', '/fleet', 'All organisations'],
      ['settings', `/o/${filled.id}/settings`, 'Own limit'],
      ['overview', `/o/${emptyId}/`, 'Records scored in'],
      ['models', `/o/${emptyId}/models`, 'No models yet'],
      ['crm', `/o/${emptyId}/crm`, 'No counted call yet'],
    ]);
    expect(faults).to.deep.equal({});
    await opened.close();
  });

  it('load less than 120 kB each with an empty cache', async () => {
    const { page, signIn, loadedBytes, close } = await site.open();
    await signIn('owner', filled.id);
    const browserCache = await page.context().newCDPSession(page);
    for (const [name, address, text] of [
      ...pages,
      ['model', `/models/${filled.model._id}`, 'Conversion by score'],
      ['job', `/jobs/${filled.jobId}`, 'Paused:'],
    ]) {
      await page.goto('about:blank');
      await browserCache.send('Network.clearBrowserCache');
      const before = loadedBytes();
      await page.goto(`${site.service.url}${address}`);
      await page
        .getByText(text ?? '')
        .first()
        .waitFor();
      await page.waitForLoadState('networkidle');
      expect(loadedBytes() - before, name).to.be.within(60_000, maxFirstLoadBytes);
    }
    await close();
  });

  it('say why a document cannot be shown, and what to do', async () => {
    const opened = await site.open({}, [404]);
    await opened.signIn('owner', filled.id);
    await open(opened, ['model-missing', '/models/mdl_missing', 'mdl_missing']);
    await open(opened, ['lead-missing', '/leads/LEAD-0', 'Nothing has been scored']);
    await opened.page.getByRole('button', { name: 'Try again' }).waitFor();
    await open(opened, ['no-page', '/nowhere', 'No such page']);
    await opened.close();
  });

  it('offer a viewer nothing that a viewer may not do', async () => {
    const { page, signIn, close } = await site.open({}, [403]);
    await signIn('viewer', filled.id);
    await page.goto(`${site.service.url}/models`);
    await page.getByText('Version').first().waitFor();
    expect(await page.getByRole('switch').count()).to.equal(0);
    expect(await page.getByText('Upload a bundle').count()).to.equal(0);
    const menu = await page.getByRole('navigation').getByRole('link').allTextContents();
    expect(menu).to.deep.equal(viewerPages);
    await page.goto(`${site.service.url}/keys`);
    await page.getByText('No such page').waitFor();
    await page.goto(`${site.service.url}/settings`);
    await page.getByText('Plan pro').waitFor();
    expect(await page.getByRole('button', { name: 'Save' }).count()).to.equal(0);
    await close();
  });
});
