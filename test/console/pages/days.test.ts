import { expect } from 'chai';
import type { Document } from 'mongodb';
import { setModel } from '../../../shared/admin/models/change-models.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { dayMs, dayNumber, dayText, monthOf } from '../../../shared/contract/dates.js';
import { FieldDayStore } from '../../../shared/store/models/field-days.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { ValidationDailyStore } from '../../../shared/store/validation/validation-daily.js';
import { consoleInBrowser } from '../../support/browser/console-in-browser.js';
import { layoutFaults } from '../../support/browser/layout-faults.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { startTimeoutMs } from '../../support/service/service.js';

const today = dayNumber(Date.now());

describe('the choice of days', function () {
  this.timeout(3 * startTimeoutMs);
  const site = consoleInBrowser();
  let organisationId: string;

  before(async () => {
    organisationId = await site.service.newOrganisation();
    const created = { $set: { created_at: new Date((today - 200) * dayMs) } };
    await site.service.database
      .collection<Document & { _id: string }>('orgs')
      .updateOne({ _id: organisationId }, created);
    // Whole months that are rolled up: 10 records a day, and 20 in the last 30 days.
    const days = Array.from({ length: 150 }, (_, index) => today - 149 + index);
    const documents = days.map((day) => ({
      ...{ _id: `${organisationId}:live:${dayText(day)}`, org: organisationId, bucket: 'live' },
      ...{ month: monthOf(day * dayMs), day: dayText(day), records: day > today - 30 ? 20 : 10 },
    }));
    await site.service.database.collection<Document & { _id: string }>('usage_daily').insertMany(documents);
    const bundle = checkBundle(sampleBundle({ name: 'Expansion' }));
    const { _id: model } = await createModel(site.service.database, { organisationId, bundle, now: new Date() });
    await site.service.act(setModel, { org_id: organisationId, model_id: model, live_api: false });
  });

  it('is kept in the address, compares with the days before, and marks changes also in the table', async () => {
    const { page, signIn, check, close } = await site.open();
    await signIn('viewer', organisationId);
    await page.goto(`${site.service.url}/usage`);
    const live = page.locator('section.card').filter({ hasText: 'Live keys by day' });
    await live.getByText('600 records', { exact: true }).waitFor();
    await live.getByText('+100 % vs. the 30 days before').waitFor();
    expect(await page.getByRole('button', { name: '30 days' }).getAttribute('aria-pressed')).to.equal('true');
    await page.getByRole('button', { name: '7 days' }).click();
    await live.getByText('140 records', { exact: true }).waitFor();
    await live.getByText('±0 % vs. the 7 days before').waitFor();
    const address = new URL(page.url());
    expect(address.search).to.equal(`?from=${dayText(today - 6)}&to=${dayText(today)}`);
    await live.getByText('Show as table').click();
    const row = live.getByRole('row').filter({ hasText: dayText(today) });
    expect(await row.getByRole('cell').allInnerTexts()).to.deep.equal([
      dayText(today),
      '20',
      '20',
      'Live API of Expansion switched off (Olga)',
    ]);
    await live.getByText('1 change in these days').click();
    await check('usage-days');
    for (const width of [390, 1440]) expect(await layoutFaults(page, width)).to.deep.equal([]);
    await page.reload();
    await live.getByText('140 records', { exact: true }).waitFor();
    await page.goBack();
    await live.getByText('600 records', { exact: true }).waitFor();
    await close();
  });

  it('takes own dates, and says why two dates do not count', async () => {
    const { page, signIn, close } = await site.open();
    await signIn('viewer', organisationId);
    await page.goto(`${site.service.url}/usage`);
    await page.getByRole('button', { name: 'Own dates' }).click();
    await page.getByLabel('First day (UTC)').fill(dayText(today - 120));
    await page.getByText('Choose at most 92 days.').waitFor();
    await page.getByLabel('Last day (UTC)').fill(dayText(today - 119));
    const live = page.locator('section.card').filter({ hasText: 'Live keys by day' });
    await live.getByText('20 records', { exact: true }).waitFor();
    const csv = await page.getByRole('link', { name: 'Export CSV' }).getAttribute('href');
    const text = await page.evaluate(`fetch(${JSON.stringify(csv)}).then((reply) => reply.text())`);
    expect(String(text).split('\r\n').slice(0, 3)).to.deep.equal([
      'day,keys,records,calls',
      `${dayText(today - 120)},live,10,`,
      `${dayText(today - 119)},live,10,`,
    ]);
    await page.getByLabel('Last day (UTC)').fill(dayText(today - 121));
    await page.getByText('The last day is before the first.').waitFor();
    await close();
  });

  it('shows of which leads outcomes have come, beside the days before', async () => {
    const org = await site.service.newOrganisation();
    const created = { $set: { created_at: new Date((today - 200) * dayMs) } };
    await site.service.database.collection<Document & { _id: string }>('orgs').updateOne({ _id: org }, created);
    const { database } = site.service;
    const [first, second] = await Promise.all(
      ['Expansion', 'Renewal'].map((name) =>
        createModel(database, {
          ...{ organisationId: org, bundle: checkBundle(sampleBundle({ name })), now: new Date() },
        }),
      ),
    );
    const days = Array.from({ length: 40 }, (_, index) => today - 39 + index);
    const bands = (day: number) => [
      { cohort: 10, excluded: 0, joined: day > today - 20 ? 4 : 10, conversions: 1, likelihood: 1 },
    ];
    await new ValidationDailyStore(database).replace(
      days.map((day) => ({
        ...{ day, matured_day: day + 90, ledger_records: 10, stored_rows: 10, mismatched_requests: 0 },
        ...{ without_crm_id: 0, erased: 0, organisation_records: 10, bands: bands(day) },
      })),
      { graded: `${first?._id}:${first?.version}`, organisationId: org, readAt: new Date() },
    );
    const { page, signIn, check, close } = await site.open();
    await signIn('admin', org);
    await page.goto(`${site.service.url}/outcomes?from=${dayText(today - 19)}&to=${dayText(today)}`);
    await page.getByText('80 of 200 leads have an outcome (40 %), and 20 converted.').waitFor();
    await page.getByText('The 20 days before: 200 of 200 (100 %).').waitFor();
    const card = page.locator('section.card').filter({ hasText: 'Leads with an outcome by day' });
    await card.getByText('Show as table').click();
    const row = card.getByRole('row').filter({ hasText: dayText(today) });
    expect((await row.getByRole('cell').allInnerTexts()).slice(0, 4)).to.deep.equal([dayText(today), '10', '4', '10']);
    await check('outcomes-days');
    for (const width of [390, 1440]) expect(await layoutFaults(page, width)).to.deep.equal([]);
    await card.getByRole('button', { name: '7 days' }).click();
    await card.getByText('28 of 70 leads have an outcome (40 %), and 7 converted.').waitFor();
    await card.getByLabel('Model').selectOption(second?._id ?? '');
    await card.getByText('No leads of these days are counted.').waitFor();
    await close();
  });

  it('shows the days of a link on the overview too', async () => {
    const { page, signIn, check, close } = await site.open();
    await signIn('viewer', organisationId);
    await page.goto(`${site.service.url}/?from=${dayText(today - 1)}&to=${dayText(today)}`);
    await page.getByText('40 records', { exact: true }).waitFor();
    expect(await page.getByRole('img', { name: 'Records by day' }).locator('.bar').count()).to.equal(2);
    await check('overview-days');
    await close();
  });

  it('shows the fields and the audit log of chosen days', async () => {
    const org = await site.service.newOrganisation();
    const bundle = checkBundle(sampleBundle({ name: 'Expansion' }));
    const { _id: model, version } = await createModel(site.service.database, {
      organisationId: org,
      bundle,
      now: new Date(),
    });
    const empty = { counts: new Map(), values: new Map() };
    await new FieldDayStore(site.service.database).add([
      { org, model, version, day: today, records: 5, ...empty },
      { org, model, version, day: today - 20, records: 3, ...empty },
    ]);
    const { page, signIn, check, close } = await site.open();
    await signIn('admin', org);
    await page.goto(`${site.service.url}/models/${model}`);
    await page.getByText('Read in 5 records of live keys since').waitFor();
    await page.getByRole('button', { name: '30 days' }).click();
    await page.getByText('Read in 8 records of live keys since').waitFor();
    await page.goto(`${page.url().split('?')[0]}?from=${dayText(today - 21)}&to=${dayText(today - 20)}`);
    await page.getByText('Read in 3 records of live keys from').waitFor();
    await check('model-days');
    await page.goto(`${site.service.url}/audit`);
    await page
      .getByText(/signed in$/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Last month' }).click();
    await page.getByText('No such changes.').waitFor();
    expect(new URL(page.url()).searchParams.get('to')).to.match(/^\d{4}-\d{2}-\d{2}$/);
    await page.getByRole('button', { name: 'All days' }).click();
    await page
      .getByText(/signed in$/)
      .first()
      .waitFor();
    await close();
  });
});
