import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { setOrganisation } from '../../shared/admin/organisations/change-organisations.js';
import { createKey } from '../../shared/admin/organisations/key-actions.js';
import type { playgroundOutput } from '../../shared/admin/schemas/leads.js';
import { checkBundle } from '../../shared/bundle/check-bundle.js';
import { monthOf } from '../../shared/contract/dates.js';
import { callIdGenerator } from '../../shared/contract/identifiers.js';
import type { ShapeOf } from '../../shared/contract/schema.js';
import type { CallDocument } from '../../shared/store/calls/call-documents.js';
import { callsCollection } from '../../shared/store/calls/prediction-segment.js';
import { CallDayStore, dayOf } from '../../shared/store/console/call-days.js';
import { ModelStore } from '../../shared/store/models/models.js';
import { createModel } from '../../shared/store/models/store-version.js';
import { appearances, type ConsolePage, holdReplies, unavailable } from '../support/admin/console-browser.js';
import { consoleInBrowser } from '../support/browser/console-in-browser.js';
import { sampleBundle } from '../support/models/sample-bundle.js';
import { documentsOfCall } from '../support/service/prediction-rows.js';
import { startTimeoutMs } from '../support/service/service.js';
import { itInFull } from '../support/tier.js';

const many = 60;
const longName = 'W'.repeat(200);
/** A reply of the playground, with each kind of remark on the record. */
const scored: ShapeOf<typeof playgroundOutput> = {
  ...{ score: 44, conversion_likelihood: 0.438, base_rate: 0.3, explain_method: 'tree' },
  ...{ drivers: [], reasons: [], warnings: [], usage: { current: 3, limit: 1_000 } },
  input: {
    used: 1,
    unread: [{ field: 'company_size', value: 'many', reason: 'expected a number' }],
    unseen: [{ field: 'lead_source', value: 'Pigeon' }],
    ambiguous: [],
    ignored: ['Company Sise', 'W'.repeat(100)],
    did_you_mean: { 'Company Sise': 'company_size' },
    more: { missing: 4, unseen: 2, ignored: 1_003 },
  },
};

describe('a page of the console', function () {
  this.timeout(3 * startTimeoutMs);
  const site = consoleInBrowser();
  let organisationId: string;

  before(async () => {
    organisationId = await site.service.newOrganisation();
  });

  /** The loaded overview of an owner. */
  async function opened(expected: readonly (number | string)[] = []): Promise<ConsolePage> {
    const found = await site.open({}, [401, ...expected]);
    await found.signIn('owner', organisationId);
    await found.page.getByText('Records scored in').waitFor();
    return found;
  }
  /** Calls of two models that score a lead with a long id and ten others. */
  async function addLeads(org: string): Promise<void> {
    const models = await new ModelStore(site.service.database).list(org);
    const newCallId = callIdGenerator();
    const crmIds = Array.from({ length: 11 }, (_, lead) => (lead === 0 ? 'W'.repeat(255) : `WW-${lead}`));
    for (const [index, { _id: model, version }] of models.slice(0, 2).entries()) {
      const at = new Date(Date.now() - 60_000 * (2 - index));
      const ledger = { bucket: 'live', month: monthOf(at.getTime()), records: crmIds.length } as const;
      const call = { ...ledger, _id: newCallId(at.getTime(), org), org, model, version, at };
      await site.service.database.collection<CallDocument>(callsCollection).insertMany(documentsOfCall(call, crmIds));
    }
  }
  const overview = '**/admin/v1/orgs/*/overview*';
  const alertOf = (page: Page) => page.getByRole('alert');

  it('says that it is loading until the reply comes', async () => {
    const { page, check, close } = await opened();
    const answer = await holdReplies(page, overview);
    await page.reload();
    await page.getByRole('status').filter({ hasText: 'Loading…' }).waitFor();
    await check('overview-loading');
    answer();
    await page.getByText('Records scored in').waitFor();
    expect(await page.getByText('Loading…').count()).to.equal(0);
    await close();
  });

  it('says that the database or the console does not answer, and loads at the second try', async () => {
    const { page, check, close } = await opened([503, 'ERR_FAILED']);
    const { message } = unavailable.json.error;
    await page.route(overview, (route) => route.fulfill(unavailable));
    await page.reload();
    await alertOf(page).filter({ hasText: message }).filter({ hasText: 'the-request' }).waitFor();
    await check('overview-unavailable');
    await page.unroute(overview);
    await page.route(overview, (route) => route.abort());
    await page.getByRole('button', { name: 'Try again' }).click();
    await alertOf(page).filter({ hasText: 'The console does not answer' }).waitFor();
    await page.unroute(overview);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Records scored in').waitFor();
    await close();
  });

  itInFull('says that a malformed address has no page, and shows the menu', async () => {
    const { page, check, close } = await opened();
    for (const address of ['/o/%E0%A4%A', '/leads/%E0', '/%']) {
      await page.goto(`${site.service.url}${address}`);
      await page.getByRole('heading', { name: 'No such page' }).waitFor();
    }
    await check('no-page');
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Overview' }).click();
    await page.getByText('Records scored in').waitFor();
    await close();
  });

  itInFull('uses a fresh one-time link in the tab of a used one', async () => {
    const { page, check, close } = await site.open();
    const used = `${site.service.url}/login#${await site.service.newLink('owner', organisationId)}`;
    await page.goto(used);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.locator('.shell').waitFor();
    await page.goto(used);
    await page.getByRole('alert').waitFor();
    await page.goto(`${site.service.url}/login#${await site.service.newLink('viewer', organisationId)}`);
    await page.getByRole('heading', { name: 'Sign in as Ada?' }).waitFor();
    expect(await page.getByRole('alert').count()).to.equal(0);
    await page.getByText('Role viewer').waitFor();
    await check('sign-in-fresh');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.locator('.shell').waitFor();
    await close();
  });

  itInFull('counts the records of bulk jobs, and lists the model with the most records first', async () => {
    const org = await site.service.newOrganisation();
    const [day, bundle] = [dayOf(Date.now()), (name: string) => checkBundle(sampleBundle({ name }))];
    for (const [name, calls, records] of [
      ['Single', 22, 22],
      ['Bulk', 0, 200_597],
    ] as const) {
      const { _id: model } = await createModel(site.service.database, {
        ...{ organisationId: org, bundle: bundle(name), now: new Date() },
      });
      const counted = { org, key: 'key_a', bucket: 'live' as const, model, day, calls, records, last_at: day };
      await new CallDayStore(site.service.database).add([counted]);
    }
    const { page, signIn, close } = await site.open();
    await signIn('viewer', org);
    const models = page.getByRole('listitem').filter({ hasText: 'records this month' });
    await models.first().waitFor();
    const shown = (await models.allInnerTexts()).map((text) =>
      /^(\w+)[\s\S]*?([\d,]+) records this month/.exec(text)?.slice(1),
    );
    expect(shown).to.deep.equal([
      ['Bulk', '200,597'],
      ['Single', '22'],
    ]);
    await close();
  });

  for (const appearance of appearances)
    itInFull(`shows how a record was read, ${appearance.colorScheme} at ${appearance.viewport.width}`, async () => {
      const org = await site.service.newOrganisation();
      await createModel(site.service.database, {
        ...{ organisationId: org, bundle: checkBundle(sampleBundle()), now: new Date() },
      });
      const { page, signIn, check, close } = await site.open(appearance);
      await signIn('admin', org);
      await page.route('**/playground', (route) =>
        route.request().method() === 'POST' ? route.fulfill({ json: scored }) : route.continue(),
      );
      await page.goto(`${site.service.url}/playground`);
      await page.getByLabel('Company size').fill('many');
      await page.getByRole('button', { name: 'Score this record' }).click();
      await page.getByText('"many" was not read: expected a number.').waitFor();
      for (const text of ['2 more unseen', '1,003 more ignored'])
        await page.getByRole('listitem').getByText(text, { exact: true }).waitFor();
      expect(await page.getByText('more missing').count()).to.equal(0);
      await check('playground-form-read');
      await page.getByRole('button', { name: 'JSON' }).click();
      await page.getByText('"Company Sise" is no field of this model').waitFor();
      await check('playground-json-read');
      await close();
    });

  itInFull('shows the year of a date that is not in this year', async () => {
    const { page, check, close } = await opened();
    const year = new Date().getUTCFullYear();
    await page.goto(`${site.service.url}/audit`);
    await page
      .getByText(/^\d+ \w{3,4}, \d\d:\d\d UTC, /)
      .first()
      .waitFor();
    await page.clock.setFixedTime(new Date(Date.UTC(year + 1, 5, 15)));
    await page.reload();
    await page
      .getByText(new RegExp(`^\\d+ \\w{3,4} ${year}, \\d\\d:\\d\\d UTC, `))
      .first()
      .waitFor();
    await check('audit-last-year');
    await close();
  });

  for (const appearance of appearances.filter(({ colorScheme }) => colorScheme === 'light')) {
    itInFull(`shows many keys and models with long names, some at first, at ${appearance.viewport.width}`, async () => {
      const org = await site.service.newOrganisation();
      await site.service.act(setOrganisation, { org_id: org, name: longName });
      const bundle = checkBundle(sampleBundle({ name: longName }));
      const now = new Date();
      for (let count = 0; count < many; count += 1) {
        await createModel(site.service.database, { organisationId: org, bundle, now });
        await site.service.act(createKey, { org_id: org, name: count === 0 ? longName : `Key ${count}`, kind: 'live' });
      }
      await addLeads(org);
      const { page, signIn, check, close } = await site.open(appearance);
      await signIn('owner', org);
      await page.getByRole('link', { name: `All ${many} models` }).waitFor();
      await check('overview-many');
      await page.goto(`${site.service.url}/models`);
      await page.getByRole('button', { name: `Show ${many - 50} more models` }).waitFor();
      await check('models-many');
      await page.getByRole('button', { name: `Show ${many - 50} more models` }).click();
      expect(await page.getByRole('switch').count()).to.be.at.least(many);
      await page.goto(`${site.service.url}/keys`);
      await page.getByRole('button', { name: `Show ${many - 50} more keys` }).waitFor();
      await check('keys-many');
      await page.goto(`${site.service.url}/audit`);
      await page.getByRole('button', { name: 'Show earlier changes' }).click();
      await page.getByText('created the organisation').waitFor();
      await check('audit-many');
      await page.goto(`${site.service.url}/leads`);
      await page.getByLabel('crm_id begins with').fill('WW');
      await page.getByText('also scored by another model').first().waitFor();
      await check('leads-many');
      await page.goto(`${site.service.url}/playground`);
      await page.getByText('The same call from your code').waitFor();
      await check('playground-many');
      await close();
    });
  }
});
