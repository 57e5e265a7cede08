import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import type { ServiceProcess } from '../../scripts/servers/service-process.js';
import { appearances, type ConsolePage, openBrowser, openPage } from '../support/admin/console-browser.js';
import { type ConsoleService, startGateway } from '../support/admin/console-service.js';
import { sharedConsoleWithPool } from '../support/admin/shared-console.js';
import { eventually } from '../support/eventually.js';
import { httpCall } from '../support/http/http-call.js';
import { sampleBundle } from '../support/models/sample-bundle.js';
import { startTimeoutMs } from '../support/service/service.js';

const maxCheckMs = 60_000;

describe('the story of a new admin in a browser', function () {
  this.timeout(4 * startTimeoutMs);
  let service: ConsoleService;
  let browser: Browser;
  let gateway: ServiceProcess;
  let gatewayUrl: string;
  let organisationId: string;
  let opened: ConsolePage;
  let page: Page;
  let secret: string;
  /** The call that the playground shows. */
  let shownCall: string;

  before(async function () {
    browser = await openBrowser(this);
    service = await sharedConsoleWithPool();
    gateway = await startGateway(service);
    gatewayUrl = gateway.url ?? '';
    organisationId = await service.newOrganisation();
    opened = await openPage(browser, service, appearances[0], [401, 403, 409, 422]);
    page = opened.page;
  });
  after(() => gateway?.stop());

  /** Opens a page by its menu. */
  const choose = (name: string) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
  const score = (fields: object) => httpCall(`${gatewayUrl}/v1/score`, { secret, body: fields });
  const modelId = async (): Promise<string> =>
    (await page.locator('code', { hasText: 'mdl_' }).first().textContent())?.trim() ?? '';

  it('signs in by a one-time link, which does not sign in again', async () => {
    const link = `${service.url}/login#${await service.newLink('owner', organisationId)}`;
    await page.goto(link);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('No models yet').waitFor();
    const other = await openPage(browser, service, appearances[0], [401]);
    await other.page.goto(link);
    await other.page.getByRole('alert').waitFor();
    await other.close();
  });

  it('creates a key by keyboard, and sees it once', async () => {
    await choose('API keys');
    const button = page.getByRole('button', { name: 'Create key' });
    await button.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Create an API key' });
    await dialog.waitFor();
    await opened.check('key-dialog');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await eventually(async () =>
      expect(await button.evaluate((element) => element === element.ownerDocument.activeElement)).to.equal(true),
    );
    await page.keyboard.press('Enter');
    const name = page.getByLabel('Name');
    // The page may move the focus once more when the dialog has opened.
    await eventually(async () => {
      await name.focus();
      await name.clear();
      await page.keyboard.type('HubSpot');
      expect(await name.inputValue()).to.equal('HubSpot');
    });
    await name.press('Enter');
    const shown = page.getByRole('dialog', { name: 'Key HubSpot' });
    secret = (await shown.locator('.secret').textContent())?.trim() ?? '';
    expect(secret).to.match(/^leadscore_sk_\w{38}$/);
    await opened.check('key-secret');
    await page.keyboard.press('Escape');
    expect(await shown.count(), 'Escape does not close it').to.equal(1);
    await page.getByRole('button', { name: 'I stored it' }).click();
    await page.getByRole('cell', { name: 'HubSpot', exact: true }).waitFor();
    expect(await page.content()).to.not.include(secret);
  });

  it('sees why a folder or a file is no bundle, and nothing changes', async () => {
    await choose('Models');
    await drop(page, new Map([['notes.txt', Buffer.from('no bundle')]]));
    await page.getByText('The files have no manifest.json').waitFor();
    await drop(page, new Map([['bundle.tar.gz', Buffer.from('not gzip')]]));
    await page.getByText('The bundle cannot be imported').waitFor({ timeout: maxCheckMs });
    await opened.check('upload-failed');
    expect(await service.database.collection('models').countDocuments({ organisation_id: organisationId })).to.equal(0);
  });

  it('imports a model by drag and drop', async () => {
    await drop(page, sampleBundle());
    await page.getByText('sample leads have the expected score').waitFor({ timeout: maxCheckMs });
    await opened.check('upload-passed');
    await page.getByRole('switch', { name: 'Live API' }).click();
    await page.getByRole('button', { name: 'Make it score' }).click();
    await page.getByText('This version scores calls now').waitFor();
    expect(await page.getByRole('switch', { name: 'Live API' }).getAttribute('aria-checked')).to.equal('false');
  });

  it('sees which model has a bundle already, and can still make a second one', async () => {
    const models = () => service.database.collection('models').countDocuments({ organisation_id: organisationId });
    await drop(page, sampleBundle());
    await page.getByRole('button', { name: 'Make it score' }).click({ timeout: maxCheckMs });
    await page.getByText(`has this bundle already: version "1.0.0" of the model ${await modelId()}`).waitFor();
    await opened.check('upload-known');
    await page.getByRole('switch', { name: 'New model of the same bundle' }).click();
    await page.getByLabel('Name').fill('Second');
    await page.getByRole('button', { name: 'Make it score' }).click();
    await page.getByText('This version scores calls now').waitFor();
    expect(await models()).to.equal(2);
    await service.database.collection('models').deleteOne({ organisation_id: organisationId, name: 'Second' });
    await page.reload();
  });

  it('stores a version as a candidate, and promotes it with a reason', async () => {
    await drop(page, sampleBundle({ version: '2.0.0' }));
    await page.getByLabel('Import as').selectOption(await modelId(), { timeout: maxCheckMs });
    await opened.check('upload-version');
    await page.getByRole('button', { name: 'Store as candidate' }).click();
    await page.getByText('Version 1.0.0 goes on scoring').waitFor();
    const stored = () =>
      service.database.collection<{ _id: string }>('models').findOne({ organisation_id: organisationId });
    expect(await stored()).to.deep.nested.include({ version: '1.0.0', 'candidate.version': '2.0.0' });
    const model = await stored();
    await page.goto(`${new URL(page.url()).origin}/models/${model?._id}`);
    await page.getByText('It scores no calls').waitFor();
    await page.getByText('The run begins within seconds').waitFor();
    await opened.check('model-candidate');
    const name = String((model as { name?: string } | null)?.name);
    await page.getByRole('button', { name: 'Promote…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Promote version 2.0.0?' });
    await dialog.getByText('The run begins within seconds').waitFor();
    await dialog.getByLabel(/Type/).fill(name);
    await dialog.getByRole('button', { name: 'Promote', exact: true }).click();
    await dialog.getByText('its run is not finished').waitFor();
    await opened.check('promotion-refused');
    await dialog.getByLabel('Reason to promote it anyway').fill('The board wants it');
    await dialog.getByRole('button', { name: 'Promote', exact: true }).click();
    await page.getByText('It scores no calls').waitFor({ state: 'detached' });
    expect(await stored())
      .to.include({ version: '2.0.0' })
      .and.to.not.have.property('candidate');
    await page.getByText('Version 1.0.0 scored calls before.').waitFor();
    await opened.check('model-promoted');
  });

  it('rolls back, and lets a chosen version score', async () => {
    const stored = () => service.database.collection('models').findOne({ organisation_id: organisationId });
    const name = String((await stored())?.name);
    await page.getByRole('button', { name: 'Roll back…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Roll back to version 1.0.0?' });
    await dialog.getByLabel(/Type/).fill(name);
    await dialog.getByRole('button', { name: 'Roll back', exact: true }).click();
    await page.getByRole('button', { name: 'Roll back…' }).waitFor({ state: 'detached' });
    expect(await stored()).to.include({ version: '1.0.0' });
    await page.getByRole('button', { name: 'Let it score… (version 2.0.0)' }).click();
    await page.getByLabel(/Type/).fill(name);
    await page.getByRole('button', { name: 'Let it score', exact: true }).click();
    await page.getByText('Version 1.0.0 scored calls before.').waitFor();
    expect(await stored()).to.include({ version: '2.0.0' });
    await choose('Models');
  });

  it('tries a lead in the playground, and sees each step of its score', async () => {
    const refusal = await score({ model_id: await modelId(), records: [{ company_size: 50 }] });
    expect(refusal.status).to.equal(403);
    await page.getByRole('switch', { name: 'Live API' }).click();
    await eventually(async () =>
      expect(await page.getByRole('switch', { name: 'Live API' }).getAttribute('aria-checked')).to.equal('true'),
    );
    await choose('Playground');
    await page.getByRole('button', { name: 'Random lead' }).click();
    // One of the golden records has no size.
    await page
      .getByLabel('Call in curl')
      .filter({ hasText: /"(company_size|demo_requested)"/ })
      .waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByLabel('Company size').fill('50');
    await page.getByLabel('Demo requested').selectOption('true');
    await page.getByRole('button', { name: 'Score this record' }).click();
    await page.getByText('How each field moved the score').waitFor({ timeout: maxCheckMs });
    await opened.check('playground-scored');
    for (const summary of await page.getByText('Show as table').all()) await summary.click();
    await page.getByRole('cell', { name: 'Company size' }).first().waitFor();
    shownCall = (await page.getByLabel('Call in curl').locator('pre').textContent()) ?? '';
    await page.getByRole('button', { name: 'JSON' }).click();
    await page.getByLabel('Record as JSON').fill('{"company_size": ');
    await page.getByText('The text is not valid JSON').waitFor();
    await page.getByText('The score appears here').waitFor();
    await page
      .getByLabel('Record as JSON')
      .fill('{"Company Sise": 50, "lead_source": "Pigeon", "demo_requested": "?"}');
    await page.getByRole('button', { name: 'Score this record' }).click();
    const notes = page.getByRole('list', { name: 'How the record was read' });
    await notes.getByText('"Company Sise" is no field of this model').waitFor();
    await notes.getByText('demo_requested: "?" was not read').waitFor();
    await opened.check('playground-json-notes');
    await page.getByLabel('Record as JSON').press('End');
    await page.getByLabel('Record as JSON').press('Space');
    expect(await page.getByText('The record has changed since this score').count(), 'a space').to.equal(0);
    await page.getByRole('button', { name: 'Use company_size' }).click();
    await page.getByText('The record has changed since this score').waitFor();
    await page.getByRole('button', { name: 'Form' }).click();
    expect(await page.getByLabel('Company size').inputValue()).to.equal('50');
    await page.getByRole('button', { name: 'Score this record' }).click();
    await page.getByText('The model has not seen "Pigeon" in training').waitFor();
    await opened.check('playground-notes');
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByRole('button', { name: 'Score this record' }).click();
    await page.getByRole('alert').filter({ hasText: 'The record is empty' }).waitFor();
    await page.getByLabel('Company size').fill('60');
    const scored = page.waitForResponse((reply) => reply.url().endsWith('/playground'));
    await page.getByRole('button', { name: 'Score this record' }).click();
    expect((await scored).status(), 'the form is sent although the text was not JSON').to.equal(200);
  });

  it('scores by the shown curl call with the shown key, and sees the calls counted', async () => {
    await choose('Models');
    const model = await modelId();
    expect(shownCall).to.include('"company_size": "50"').and.include('$LEADSCORE_KEY');
    const environment = { PATH: '/usr/local/bin:/usr/bin:/bin', LEADSCORE_KEY: secret };
    const call = shownCall.replace(/http:\/\/[^/]+/, gatewayUrl);
    const { stdout } = await promisify(execFile)('sh', ['-c', call], { env: environment });
    expect(JSON.parse(stdout)).to.include({ model_id: model, records_scored: 1 });
    for (const size of [20, 60]) {
      const reply = await score({ model_id: model, records: [{ crm_id: 'LEAD-1', company_size: size }] });
      expect(reply.status, reply.text).to.equal(200);
    }
    await choose('Overview');
    await page.getByText('3 of 10,000 included').waitFor();
    await choose('CRM set-up');
    await page.getByText('First call').waitFor();
    await opened.check('crm-called');
  });

  it('switches the Live API off after a question, and calls get 403', async () => {
    await choose('Models');
    await page.getByRole('switch', { name: 'Live API' }).click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect(await page.getByRole('switch', { name: 'Live API' }).getAttribute('aria-checked')).to.equal('true');
    await page.getByRole('switch', { name: 'Live API' }).click();
    const switchOff = page.getByRole('button', { name: 'Switch off' });
    expect(await switchOff.isDisabled()).to.equal(true);
    await page
      .getByLabel(/^Type .* to confirm$/)
      .fill((await page.locator('main li strong').first().textContent()) ?? '');
    await switchOff.click();
    const call = { model_id: await modelId(), records: [{ company_size: 5 }] };
    await eventually(async () => expect((await score(call)).status).to.equal(403));
  });

  it('finds the lead, sees its history, downloads its data, and erases it after typing its id', async () => {
    await choose('Leads');
    await page.getByLabel('crm_id begins with').fill('LEAD');
    await page.getByRole('link', { name: 'LEAD-1' }).click();
    await page.getByRole('cell', { name: /^Company size: / }).waitFor();
    await opened.check('lead-history');
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download all data' }).click();
    const download = await saved;
    expect(download.suggestedFilename()).to.equal('LEAD-1.json');
    const exported = JSON.parse(await readFile(await download.path(), 'utf8'));
    expect(exported).to.include({ crm_id: 'LEAD-1' });
    expect(exported.scores.map(({ fields }: { fields: object }) => fields)).to.deep.equal([
      [{ field: 'company_size', value: 60 }],
      [{ field: 'company_size', value: 20 }],
    ]);
    await page.getByRole('button', { name: 'Erase person' }).click();
    const erase = page.getByRole('dialog').getByRole('button', { name: 'Erase person' });
    expect(await erase.isDisabled()).to.equal(true);
    await page.getByLabel('Type LEAD-1 to confirm').fill('LEAD-1');
    await opened.check('erase-dialog');
    await erase.click();
    await page.getByRole('heading', { name: 'Find a lead' }).waitFor();
    await page.getByLabel('crm_id begins with').fill('LEAD');
    await page.getByText('No lead with this beginning').waitFor();
  });

  it('revokes the key after typing its name, and calls get 401', async () => {
    await choose('API keys');
    await page.getByRole('button', { name: 'Revoke HubSpot' }).click();
    await page.getByLabel('Type HubSpot to confirm').fill('HubSpot');
    await page.getByRole('button', { name: 'Revoke key' }).click();
    await page.getByText('Revoked keys (1)').waitFor();
    await eventually(async () => expect((await score({ records: [] })).status).to.equal(401));
  });

  it('reads each of these changes in the audit log', async () => {
    await choose('Audit log');
    await page.getByText('Ada revoked the key HubSpot').waitFor();
    const changes = (await page.getByRole('listitem').allInnerTexts()).join('\n');
    for (const change of ['signed in', 'created the live key HubSpot', 'imported the model', 'erased a lead'])
      expect(changes).to.include(`Ada ${change}`);
    expect(changes).to.match(/Ada switched Live API of .* on/);
    await opened.check('audit-story');
    await opened.close();
  });
});

/** Drops files on the upload, as a person does with the mouse. */
async function drop(page: Page, files: ReadonlyMap<string, Uint8Array>): Promise<void> {
  const given = [...files].map(([name, bytes]) => [name, Buffer.from(bytes).toString('base64')] as const);
  // As text: this program knows no types of a browser.
  const transfer = await page.evaluateHandle(`(() => {
    const made = new DataTransfer();
    for (const [name, base64] of ${JSON.stringify(given)}) {
      const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
      made.items.add(new File([bytes], name));
    }
    return made;
  })()`);
  await page.dispatchEvent('.drop', 'drop', { dataTransfer: transfer });
}
