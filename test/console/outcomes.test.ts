import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import { checkBundle } from '../../shared/bundle/check-bundle.js';
import { machineClock, monthOf } from '../../shared/contract/dates.js';
import { callIdGenerator } from '../../shared/contract/identifiers.js';
import type { CallDocument } from '../../shared/store/calls/call-documents.js';
import { callsCollection } from '../../shared/store/calls/prediction-segment.js';
import type { Model } from '../../shared/store/models/models.js';
import { createModel } from '../../shared/store/models/store-version.js';
import { gradeAndPublish } from '../../worker/grading/job/grade-models.js';
import { appearances, type ConsolePage } from '../support/admin/console-browser.js';
import { consoleInBrowser } from '../support/browser/console-in-browser.js';
import { sampleBundle } from '../support/models/sample-bundle.js';
import { documentsOfCall } from '../support/service/prediction-rows.js';
import { startTimeoutMs } from '../support/service/service.js';
import { itInFull } from '../support/tier.js';

const hourMs = 3_600_000;
const leads = 210;
/** More rows than a part may have; nearly all are ignored, so that few are stored. */
const manyRows = 50_100;

describe('outcomes in a browser', function () {
  this.timeout(4 * startTimeoutMs);
  const site = consoleInBrowser();
  let organisationId: string;
  let model: Model;

  before(async () => {
    organisationId = await site.service.newOrganisation();
    const bundle = checkBundle(sampleBundle());
    model = await createModel(site.service.database, { organisationId, bundle, now: new Date() });
    const at = new Date(Date.now() - 30 * hourMs);
    const crmIds = Array.from({ length: leads }, (_, lead) => `LEAD-${lead}`);
    const call = {
      ...{ _id: callIdGenerator()(at.getTime(), organisationId), org: organisationId, bucket: 'live' as const, at },
      ...{ month: monthOf(at.getTime()), records: leads, model: model._id, version: model.version },
    };
    await site.service.database.collection<CallDocument>(callsCollection).insertMany(documentsOfCall(call, crmIds));
    await grade();
  });

  /** Does the work of a worker pool. */
  const grade = () =>
    gradeAndPublish(
      { database: site.service.database, clock: machineClock(), redis: undefined },
      { model, version: model.version },
    );
  const file = (text: string | Buffer, name = 'deals.csv') => ({
    ...{ name, mimeType: 'text/csv', buffer: Buffer.from(text) },
  });
  const choose = (page: Page, text: string | Buffer) => page.getByLabel('File of outcomes').setInputFiles(file(text));
  const mark = (page: Page, value: string, meaning: string) =>
    page
      .getByRole('group', { name: `Meaning of ${value}` })
      .getByRole('button', { name: meaning })
      .click();
  const cells = async (row: Locator) =>
    (await row.getByRole('cell').allInnerTexts()).map((text) => text.split('\n')[0]);
  async function opened(appearance = appearances[0]): Promise<ConsolePage> {
    const found = await site.open(appearance, [401, 422]);
    await found.signIn('admin', organisationId);
    await found.page.goto(`${site.service.url}/outcomes`);
    await found.page.getByText('1. Choose a file').waitFor();
    return found;
  }

  it('are brought with the stages of deals, which a person marks, and move the gates', async () => {
    const { page, check, close } = await opened();
    const stages = ['Closed Won', 'Verloren', 'Open'];
    const rows = Array.from({ length: leads }, (_, lead) => `LEAD-${lead};${stages[lead % 3]};`);
    const unknown = ['00Q1;Closed Won;2026-03-01', '00Q2;Closed Won;2026-33-01'];
    await choose(
      page,
      Buffer.from(`\ufeffLead ID;Deal Stage;Closed\r\n${[...rows, ...unknown].join('\r\n')}\r\n`, 'utf16le'),
    );
    await page.getByRole('cell', { name: 'Verloren' }).first().waitFor();
    expect(await page.getByText('Suggested by the name of the column.').count()).to.equal(3);
    await check('outcomes-columns');
    await page.getByRole('button', { name: 'Count the outcomes' }).click();
    const send = page.getByRole('button', { name: /^Send / });
    await page.getByText('1 value is not marked yet.').waitFor();
    expect(await send.isDisabled()).to.equal(true);
    expect(await page.getByText('suggested', { exact: true }).count()).to.equal(2);
    await mark(page, 'Verloren', 'Lost');
    await check('outcomes-values');
    await page.getByRole('button', { name: 'Remember these values' }).click();
    await page.getByText('Saved').waitFor();
    expect(
      await site.service.database.collection<{ _id: string }>('orgs').findOne({ _id: organisationId }),
    ).to.deep.include({
      ...{ won_values: ['Closed Won'], lost_values: ['Verloren', 'Open'] },
    });
    await page.getByRole('button', { name: `Send ${leads + 2} rows` }).click();
    const result = page.getByRole('region', { name: 'Sent outcomes' });
    await result.getByText(`${leads + 1}`, { exact: true }).waitFor();
    await page.getByText(`1 of ${leads + 1} leads have no stored score, such as 00Q1.`).waitFor();
    await page.getByText('A lead with a score is LEAD-').waitFor();
    await page.getByText(`Line ${leads + 3}: "Closed" must be a date`).waitFor();
    const reconciles = page.getByRole('row').filter({ hasText: 'The books agree' });
    expect((await cells(reconciles)).slice(1)).to.deep.equal(['too early', 'with the next grade']);
    await page.getByText('New outcomes count from').waitFor();
    await check('outcomes-sent');
    await grade();
    await page.getByText('with the sent outcomes.').waitFor();
    expect((await cells(reconciles)).slice(1)).to.deep.equal(['too early', 'cleared']);
    await check('outcomes-graded');
    await close();
  });

  itInFull('say why a file or a column cannot be read, in the words of the API', async () => {
    const { page, check, close } = await opened();
    await choose(page, '{"crm_id": "L1"}');
    await page.getByRole('alert').filter({ hasText: 'Outcomes are read from a CSV alone' }).waitFor();
    await choose(page, `Name,Owner\n${Array.from({ length: 51 }, (_, row) => `N${row},x${row}\n`).join('')}`);
    const count = page.getByRole('button', { name: 'Count the outcomes' });
    expect(await count.isDisabled(), 'nothing is suggested').to.equal(true);
    await page.getByLabel('Id of the lead').selectOption('Name');
    await page.getByLabel('Outcome', { exact: true }).selectOption('Owner');
    await count.click();
    await page.getByRole('alert').filter({ hasText: 'has more than 50 different values' }).waitFor();
    await check('outcomes-no-column');
    await close();
  });

  itInFull('send a file of more than 50,000 rows in parts, and name the lines of the file', async () => {
    const { page, close } = await opened(appearances.find(({ viewport }) => viewport.width < 500));
    const rows = Array.from({ length: manyRows }, (_, row) =>
      row === manyRows - 2 ? 'X,1,soon' : `"I\n${row}",wait,`,
    );
    const text = `crm_id,converted,at\n${rows.join('\n')}\nLEAD-1,1,\n`;
    await choose(page, text);
    await page.getByRole('button', { name: 'Count the outcomes' }).click();
    await mark(page, 'wait', 'Ignored');
    await page.getByRole('button', { name: 'Send 2 rows' }).click();
    await page.getByText('The file was sent in 2 parts').waitFor();
    // Each of the other rows has two lines.
    await page.getByText(`Line ${(2 * (manyRows - 2) + 2).toLocaleString('en-US')}: "at" must be a date`).waitFor();
    const result = page.getByRole('region', { name: 'Sent outcomes' });
    await result.getByText((manyRows - 1).toLocaleString('en-US'), { exact: true }).waitFor();
    await close();
  });
});
