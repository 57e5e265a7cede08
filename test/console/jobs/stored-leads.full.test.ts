import { expect } from 'chai';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { beginJob } from '../../support/admin/job-story.js';
import { sharedConsoleWithBulk } from '../../support/admin/shared-console.js';
import { consoleInBrowser } from '../../support/browser/console-in-browser.js';
import { focusComes, pressOn, tabTo } from '../../support/browser/keyboard.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { startTimeoutMs } from '../../support/service/service.js';

const maxJobMs = 60_000;

describe('a person who scores stored leads again in the console', function () {
  this.timeout(4 * startTimeoutMs);
  const site = consoleInBrowser(sharedConsoleWithBulk);

  it('chooses the leads without a file and with the keyboard alone, and sees the job end', async () => {
    const organisationId = await site.service.newOrganisation();
    await createModel(site.service.database, { organisationId, bundle: checkBundle(sampleBundle()), now: new Date() });
    const opened = await beginJob({ ...site, organisationId }, { rows: 5, padding: 1 });
    const { page, check } = opened;
    await page.getByText('Completed').waitFor({ timeout: maxJobMs });
    await pressOn(page, 'Jobs');
    await page.getByRole('link', { name: 'New job' }).waitFor();
    await pressOn(page, 'New job');
    const choice = page.getByLabel('Leads', { exact: true });
    await choice.waitFor();
    await tabTo(page, choice);
    await page.keyboard.type('that are stored');
    await tabTo(page, 'Leads at most');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('3');
    await check('new-job-stored');
    await pressOn(page, 'Score these leads again');
    await page.getByRole('heading', { name: 'Stored leads' }).waitFor();
    await focusComes(page.getByRole('heading', { name: 'Stored leads' }));
    await page.getByText('Completed').waitFor({ timeout: maxJobMs });
    await page.getByText('sent in the 90 days before, the newest 3 at most').waitFor();
    await check('job-of-stored-leads');
    await opened.close();
    expect(await site.service.ledgerSum(organisationId)).to.equal(5 + 3);
  });
});
