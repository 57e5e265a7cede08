import { expect } from 'chai';
import { createOrganisation } from '../../../shared/admin/organisations/change-organisations.js';
import { createKey } from '../../../shared/admin/organisations/key-actions.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { monthOf } from '../../../shared/contract/dates.js';
import { callIdGenerator } from '../../../shared/contract/identifiers.js';
import type { CallDocument } from '../../../shared/store/calls/call-documents.js';
import { callsCollection } from '../../../shared/store/calls/prediction-segment.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { OutcomeStore } from '../../../shared/store/validation/outcomes.js';
import { appearances } from '../../support/admin/console-browser.js';
import { consoleInBrowser } from '../../support/browser/console-in-browser.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { documentsOfCall } from '../../support/service/prediction-rows.js';
import { startTimeoutMs } from '../../support/service/service.js';
import { itInFull } from '../../support/tier.js';

describe('the first visit to the overview', function () {
  this.timeout(3 * startTimeoutMs);
  const site = consoleInBrowser();

  it('ticks the first steps as they are done, and then lists them no longer', async () => {
    const org = await site.service.newOrganisation();
    const { page, signIn, close } = await site.open();
    await signIn('owner', org);
    const done = async () => {
      await page.reload();
      await page.getByText('Records scored in').waitFor();
      return await page.getByRole('listitem').filter({ hasText: 'done' }).getByRole('strong').allInnerTexts();
    };
    expect(await done()).to.deep.equal([]);
    await page.getByRole('link', { name: 'Import a model: Models' }).waitFor();
    const bundle = checkBundle(sampleBundle());
    const model = await createModel(site.service.database, { organisationId: org, bundle, now: new Date() });
    await site.service.act(createKey, { org_id: org, kind: 'live' });
    expect(await done()).to.deep.equal(['Import a model', 'Create an API key']);
    const at = new Date();
    const ledger = { bucket: 'live', month: monthOf(at.getTime()), records: 1, model: model._id } as const;
    const call = { ...ledger, _id: callIdGenerator()(at.getTime(), org), org, version: model.version, at };
    await site.service.database.collection<CallDocument>(callsCollection).insertMany(documentsOfCall(call, ['a']));
    expect(await done())
      .to.include('Send the first call')
      .and.have.length(3);
    const outcomes = [{ crmId: 'a', converted: true, at }];
    await new OutcomeStore(site.service.database).record({ organisationId: org, outcomes, receivedAt: at });
    expect(await done()).to.deep.equal([]);
    expect(await page.getByText('First steps').count()).to.equal(0);
    // Days before the organisation was created have no bar.
    expect(await page.getByRole('img', { name: 'Records by day' }).locator('.bar').count()).to.equal(1);
    await close();
  });

  for (const appearance of appearances) {
    const words = `${appearance.colorScheme} at ${appearance.viewport.width}`;
    itInFull(`says what a plan without live records allows, ${words}`, async () => {
      const { org_id: org } = await site.service.act(createOrganisation, { name: 'Fresh GmbH', plan: 'free' });
      const { page, signIn, check, close } = await site.open(appearance);
      await signIn('owner', org);
      await page.getByText('Plan free without records of live keys').waitFor();
      await page.getByText('Test keys and the playground score 1,000 records a month for free.').waitFor();
      const main = await page.locator('main').textContent();
      expect(main)
        .to.include('No records yet this month.')
        .and.not.match(/of 0|stop|At this pace/);
      await check('overview-first-visit');
      await page.goto(`${site.service.url}/usage`);
      await page.getByText('The last twelve months').waitFor();
      await check('usage-first-visit');
      await close();
    });
  }
});
