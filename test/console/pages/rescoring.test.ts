import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { createKey, setKey } from '../../../shared/admin/organisations/key-actions.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import type { Scope } from '../../../shared/contract/roles.js';
import { ModelStore } from '../../../shared/store/models/models.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { appearances, type ConsolePage } from '../../support/admin/console-browser.js';
import { consoleInBrowser } from '../../support/browser/console-in-browser.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { startTimeoutMs } from '../../support/service/service.js';

const isOff = 'Off: they keep their scores until a call or a job scores them.';

describe('the card of a model whose stored leads the service scores again', function () {
  this.timeout(3 * startTimeoutMs);
  const site = consoleInBrowser();
  let organisationId: string;
  let modelId: string;

  beforeEach(async () => {
    organisationId = await site.service.newOrganisation();
    const bundle = checkBundle(sampleBundle());
    modelId = (await createModel(site.service.database, { organisationId, bundle, now: new Date() }))._id;
  });

  const newKey = async (name: string, options: { readonly kind?: 'test'; readonly scopes?: readonly Scope[] } = {}) =>
    (await site.service.act(createKey, { org_id: organisationId, name, ...options })).key_id;
  const stored = async () => (await new ModelStore(site.service.database).find(modelId))?.rescore;
  const open = async (role: 'admin' | 'viewer', appearance = {}, expected: readonly number[] = [401]) => {
    const opened = await site.open(appearance, expected);
    await opened.signIn(role, organisationId);
    await opened.page.goto(`${site.service.url}/models/${modelId}`);
    await opened.page.getByRole('heading', { name: 'Validation' }).waitFor();
    return opened;
  };
  const button = ({ page }: Pick<ConsolePage, 'page'>, name: string) => page.getByRole('button', { name, exact: true });
  const choices = (page: Page) => page.getByLabel('Key', { exact: true }).locator('option').allTextContents();

  for (const appearance of appearances.filter(({ colorScheme }) => colorScheme === 'light'))
    it(`saves when, a key and a number, shows them, changes them and turns off, at ${appearance.viewport.width}`, async () => {
      const [nightly] = [await newKey('Nightly', { scopes: ['jobs', 'read'] }), await newKey('Of all scopes')];
      await newKey('Only calls', { scopes: ['score'] });
      await newKey('A test key', { kind: 'test' });
      const opened = await open('admin', appearance);
      const { page } = opened;
      await page.getByText(isOff).waitFor();
      await button(opened, 'Score them again…').click();
      await page.getByLabel('When').waitFor();
      expect((await choices(page)).sort()).to.deep.equal(['Nightly', 'Of all scopes']);
      await opened.check('rescoring-form');
      await button(opened, 'Cancel').click();
      await page.getByLabel('When').waitFor({ state: 'detached' });
      expect(await stored()).to.equal(undefined);

      await button(opened, 'Score them again…').click();
      await page.getByLabel('When').selectOption('promotion');
      await page.getByLabel('Key', { exact: true }).selectOption(nightly ?? '');
      await page.getByLabel('Leads at most').fill('700');
      await button(opened, 'Save').click();
      await page
        .getByText(
          'At most 700 leads, after another version has come to score calls, under the key Nightly. Set by Ada,',
        )
        .waitFor();
      expect(await stored()).to.deep.include({ when: 'promotion', key: nightly, at_most: 700, by: 'Ada' });
      await opened.check('rescoring-saved');

      await button(opened, 'Change…').click();
      expect(await page.getByLabel('Leads at most').inputValue()).to.equal('700');
      await page.getByLabel('When').selectOption('nightly');
      await button(opened, 'Save').click();
      await page.getByText('At most 700 leads, each night (UTC), under the key Nightly.').waitFor();
      expect(await stored()).to.include({ when: 'nightly', key: nightly });

      await button(opened, 'Turn off').click();
      await page.getByText(isOff).waitFor();
      expect(await stored()).to.equal(undefined);
      await opened.close();
    });

  it('refuses a key without the scopes with a sentence, and changes nothing', async () => {
    await newKey('Only calls', { scopes: ['score'] });
    const opened = await open('admin', {}, [401, 409, 422]);
    const { page } = opened;
    await button(opened, 'Score them again…').click();
    await page.getByText('These jobs need a live key with the scopes jobs and read.').waitFor();
    expect(await button(opened, 'Save').count()).to.equal(0);

    const key = await newKey('Nightly', { scopes: ['jobs', 'read'] });
    await page.reload();
    await button(opened, 'Score them again…').click();
    await page.getByLabel('When').waitFor();
    await site.service.act(setKey, { key_id: key, scopes: ['score'] });
    await button(opened, 'Save').click();
    await page.getByRole('alert').filter({ hasText: 'The key lacks the scopes jobs and read.' }).waitFor();
    await opened.check('rescoring-refused');
    expect(await stored()).to.equal(undefined);
    await opened.close();
  });

  it('says why a setting has ended, also to viewers, who cannot change it', async () => {
    const key = await newKey('Nightly');
    const models = new ModelStore(site.service.database);
    const since = new Date();
    const setting = { when: 'nightly', key, at_most: 700, by: 'Ada', since, done_for: '2026-01-01' } as const;
    const ended = { at: since, reason: 'The key was revoked.' };
    await models.update(modelId, { rescore: { ...setting, ended } });
    const opened = await open('viewer');
    await opened.page.getByText(/This ended on .* The key was revoked\./).waitFor();
    await opened.check('rescoring-ended');
    for (const name of ['Change…', 'Turn off']) expect(await button(opened, name).count(), name).to.equal(0);
    await models.update(modelId, {}, ['rescore']);
    await opened.page.reload();
    await opened.page.getByRole('heading', { name: 'Validation' }).waitFor();
    expect(await opened.page.getByText(isOff).count()).to.equal(0);
    await opened.close();
  });
});
