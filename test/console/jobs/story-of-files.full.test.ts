import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { ServiceProcess } from '../../../scripts/servers/service-process.js';
import { createKey } from '../../../shared/admin/organisations/key-actions.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { openBrowser } from '../../support/admin/console-browser.js';
import { type ConsoleService, startGateway } from '../../support/admin/console-service.js';
import { downloadResults, dropAndBegin, dropLeads, openNewJob } from '../../support/admin/job-story.js';
import { sharedConsoleWithBulk } from '../../support/admin/shared-console.js';
import { httpCall } from '../../support/http/http-call.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { startTimeoutMs } from '../../support/service/service.js';

const file = { rows: 20_000, padding: 10 };
const maxJobMs = 300_000;
/** A grade counts outcomes a minute after they arrive. */
const maxGradeMs = 300_000;
const stages = ['Closed Won', 'Verloren', 'Open'];

describe('the story of an admin without a terminal', function () {
  this.timeout(maxJobMs + maxGradeMs + 4 * startTimeoutMs);
  let service: ConsoleService;
  let gateway: ServiceProcess;

  before(async () => {
    service = await sharedConsoleWithBulk();
    gateway = await startGateway(service);
  });
  after(() => gateway?.stop());

  const choose = (page: Page, name: string) =>
    page.getByRole('navigation').getByRole('link', { name, exact: true }).click();

  /** The states of the gates on the page of the model, by their titles. */
  async function gatesOf(page: Page): Promise<Readonly<Record<string, string>>> {
    const gates = page.locator('ol.rows li');
    await gates.first().waitFor();
    const all = await gates.all();
    const texts = all.map(async (gate) => [
      await gate.locator('strong').first().textContent(),
      await gate.locator('.badge').textContent(),
    ]);
    return Object.fromEntries(await Promise.all(texts));
  }

  it('mends a file, scores it, compares its results with the API, and sees the gates move by outcomes', async function () {
    const browser = await openBrowser(this);
    const organisationId = await service.newOrganisation();
    const model = await createModel(service.database, {
      ...{ organisationId, bundle: checkBundle(sampleBundle()), now: new Date() },
    });
    await service.database
      .collection<{ _id: string }>('orgs')
      .updateOne({ _id: organisationId }, { $set: { limit: 100_000 } });

    const opened = await openNewJob({ browser, service, organisationId });
    const { page, check } = opened;
    await dropLeads(page, file, ['Lead ID', 'Company Size', 'Demo Requestd', 'Notes']);
    await page.getByText('1 of 3 fields of the model are in the file').waitFor();
    const renamed = page.getByRole('row').filter({ hasText: 'Demo Requestd' });
    expect(await renamed.textContent()).to.match(/unknown\s*perhaps demo_requested/);
    await check('story-unknown-column');
    await dropAndBegin(opened, file);
    await page.getByText('Completed').waitFor({ timeout: maxJobMs });
    const results = await downloadResults(page, file);
    const jobId = new URL(page.url()).pathname.split('/').at(-1);
    const { secret } = await service.act(createKey, { org_id: organisationId });
    const byApi = await httpCall(`${gateway.url}/v1/jobs/${jobId}/results`, { method: 'GET', secret });
    expect(byApi.status).to.equal(200);
    expect(results === byApi.text, 'the bytes of the API').to.equal(true);

    await choose(page, 'Models');
    await page.getByRole('link', { name: model.name }).click();
    const before = await gatesOf(page);
    await check('story-gates-before');

    await choose(page, 'Outcomes');
    const rows = Array.from({ length: file.rows }, (_, row) => `L-${row};${stages[row % 3]}\n`);
    const deals = `Lead ID;Deal Stage\n${rows.join('')}`;
    await page
      .getByLabel('File of outcomes')
      .setInputFiles({ name: 'deals.csv', mimeType: 'text/csv', buffer: Buffer.from(deals) });
    await page.getByRole('button', { name: 'Count the outcomes' }).click();
    await page.getByText('1 value is not marked yet.').waitFor();
    for (const [value, meaning] of [
      ['Closed Won', 'Won'],
      ['Verloren', 'Lost'],
    ] as const)
      await page
        .getByRole('group', { name: `Meaning of ${value}` })
        .getByRole('button', { name: meaning })
        .click();
    await page.getByRole('button', { name: 'Send 20,000 rows' }).click();
    const sent = page.getByRole('region', { name: 'Sent outcomes' });
    await sent.getByText('20,000', { exact: true }).first().waitFor({ timeout: maxGradeMs });
    await page.getByText('with the sent outcomes.').waitFor({ timeout: maxGradeMs });
    await page.getByRole('link', { name: model.name }).click();
    const after = await gatesOf(page);
    await check('story-gates-after');
    expect(before).to.include({ 'Enough leads scored': 'open', 'The books agree': 'comes later' });
    expect(after).to.include({ 'Enough leads scored': 'cleared', 'The books agree': 'cleared' });
    expect(after, 'the window is not over').to.include({ 'Old enough to judge': 'too early' });
    await opened.close();
    expect(await service.ledgerSum(organisationId)).to.equal(file.rows);
    expect(await service.database.collection('outcomes').countDocuments({ org: organisationId })).to.equal(file.rows);
  });
});
