import { expect } from 'chai';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { beginJob } from '../../support/admin/job-story.js';
import { sharedConsoleWithBulk } from '../../support/admin/shared-console.js';
import { consoleInBrowser } from '../../support/browser/console-in-browser.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { startTimeoutMs } from '../../support/service/service.js';

const maxJobMs = 60_000;

describe('a person who scores stored leads again in the console', function () {
  this.timeout(4 * startTimeoutMs);
  const site = consoleInBrowser(sharedConsoleWithBulk);

  it('chooses the leads without a file, and sees the job end', async () => {
    const organisationId = await site.service.newOrganisation();
    await createModel(site.service.database, { organisationId, bundle: checkBundle(sampleBundle()), now: new Date() });
    const opened = await beginJob({ ...site, organisationId }, { rows: 5, padding: 1 });
    const { page, check } = opened;
    await page.getByText('Completed').waitFor({ timeout: maxJobMs });
    await page.getByRole('navigation').getByRole('link', { name: 'Jobs', exact: true }).click();
    await page.getByRole('link', { name: 'New job' }).click();
    await page.getByLabel('Leads', { exact: true }).selectOption('stored');
    await page.getByLabel('Leads at most').fill('3');
    await check('new-job-stored');
    await page.getByRole('button', { name: 'Score these leads again' }).click();
    await page.getByRole('heading', { name: 'Stored leads' }).waitFor();
    await page.getByText('Completed').waitFor({ timeout: maxJobMs });
    await page.getByText('sent in the 90 days before, the newest 3 at most').waitFor();
    await check('job-of-stored-leads');
    await opened.close();
    expect(await site.service.ledgerSum(organisationId)).to.equal(5 + 3);
  });
});
