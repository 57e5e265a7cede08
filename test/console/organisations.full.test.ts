import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Role } from '../../shared/contract/roles.js';
import {
  appearances,
  type ConsolePage,
  holdReplies,
  type openPage,
  unavailable,
  viewerPages,
} from '../support/admin/console-browser.js';
import { consoleService } from '../support/admin/console-service.js';
import { type FilledOrganisation, filledOrganisation } from '../support/admin/filled-organisation.js';
import { memberSession, sessionCookie } from '../support/admin/member-session.js';
import { consoleInBrowser } from '../support/browser/console-in-browser.js';
import { eventually } from '../support/eventually.js';
import { startTimeoutMs } from '../support/service/service.js';

const longName = 'W'.repeat(200);
const many = 60;

describe('the organisation menu of the console', function () {
  this.timeout(3 * startTimeoutMs);
  const site = consoleInBrowser(consoleService);
  let filled: FilledOrganisation;
  let beta: string;
  let people = 0;

  before(async () => {
    filled = await filledOrganisation(site.service);
    beta = await site.service.newOrganisation('Beta');
  });
  after(async () => {
    await site.service?.leave();
  });

  /** A browser of a member who has signed in to the first of some organisations. */
  async function memberOf(
    memberships: readonly (readonly [string, Role])[],
    options: Parameters<typeof openPage>[2] = {},
  ): Promise<ConsolePage> {
    people += 1;
    const opened = await site.open(options);
    const value = await memberSession(site.service, new Map(memberships), `person-${people}`);
    await opened.page.context().addCookies([{ name: sessionCookie, value, url: site.service.url }]);
    return opened;
  }
  /** The page of keys of Acme, opened by a member of two organisations. */
  async function keysOfTwo(): Promise<ConsolePage> {
    const opened = await memberOf([
      [filled.id, 'owner'],
      [beta, 'viewer'],
    ]);
    await opened.page.goto(`${site.service.url}/keys`);
    await opened.page.getByText(filled.keyName).waitFor();
    return opened;
  }
  const menuOf = (page: Page) => page.getByRole('button', { name: /^Organisation / });
  const choices = (page: Page) => page.getByRole('navigation', { name: 'Organisations' });
  /** Opens the menu of pages, which is closed on narrow screens. */
  async function openSide(page: Page): Promise<void> {
    const button = page.getByRole('button', { name: 'Menu', exact: true });
    if (await button.isVisible()) await button.click();
  }

  for (const appearance of appearances) {
    it(`switches and stays on the same kind of page, ${appearance.colorScheme} at ${appearance.viewport.width}`, async () => {
      const opened = await memberOf(
        [
          [filled.id, 'owner'],
          [beta, 'owner'],
        ],
        appearance,
      );
      const { page } = opened;
      await page.goto(`${site.service.url}/models/${filled.model._id}`);
      await page.getByText('Conversion by score').first().waitFor();
      await openSide(page);
      await menuOf(page).click();
      await choices(page).getByText(`${beta}, owner`).waitFor();
      await opened.check('organisations');
      await choices(page).getByRole('link', { name: 'Beta' }).click();
      await page.getByText('No models yet').waitFor();
      expect(new URL(page.url()).pathname).to.equal(`/o/${beta}/models`);
      expect(await choices(page).count(), 'the menu is closed').to.equal(0);
      expect(await page.locator('body').textContent()).to.not.include(filled.model._id);
      await openSide(page);
      await page.getByRole('button', { name: 'Organisation Beta' }).waitFor();
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'API keys' }).click();
      await page.getByText('No valid key').waitFor();
      await openSide(page);
      await menuOf(page).click();
      await choices(page).getByRole('link', { name: 'Acme' }).click();
      await page.getByText(filled.keyName).waitFor();
      expect(new URL(page.url()).pathname).to.equal(`/o/${filled.id}/keys`);
      await page.reload();
      await page.getByText(filled.keyName).waitFor();
      await opened.close();
    });

    it(`lets an operator open any organisation, ${appearance.colorScheme} at ${appearance.viewport.width}`, async () => {
      const opened = await site.open(appearance);
      const { page } = opened;
      await opened.signIn('operator');
      await page.goto(`${site.service.url}/fleet`);
      await page.getByText('All organisations').first().waitFor();
      await openSide(page);
      await page.getByRole('button', { name: 'Organisation Choose an organisation' }).click();
      await choices(page).getByRole('link', { name: 'Beta' }).waitFor();
      await opened.check('organisations-operator');
      await choices(page).getByRole('link', { name: 'Beta' }).click();
      await page.getByText('Records scored in').waitFor();
      expect(new URL(page.url()).pathname).to.equal(`/o/${beta}/`);
      await page.goto(`${site.service.url}/o/${beta}/audit`);
      await page.getByText('created the organisation').waitFor();
      await openSide(page);
      await page.getByRole('button', { name: 'Organisation Beta' }).click();
      await page.getByLabel('Id of an organisation').fill(filled.id);
      await page.keyboard.press('Enter');
      await page
        .getByText(/created the live key/)
        .first()
        .waitFor();
      expect(new URL(page.url()).pathname).to.equal(`/o/${filled.id}/audit`);
      await opened.close();
    });
  }

  it('works by keyboard: it opens, closes by Escape and behind its end, and the new page has the focus', async () => {
    const opened = await keysOfTwo();
    const { page } = opened;
    const focused = () => page.evaluate('document.activeElement.textContent');
    await menuOf(page).focus();
    await page.keyboard.press('Enter');
    await choices(page).waitFor();
    expect(await menuOf(page).getAttribute('aria-expanded')).to.equal('true');
    await page.keyboard.press('Tab');
    expect(await focused()).to.include('Acme');
    await page.keyboard.press('Escape');
    await choices(page).waitFor({ state: 'detached' });
    expect(await focused(), 'the button has the focus again').to.include('Acme');
    expect(await menuOf(page).getAttribute('aria-expanded')).to.equal('false');
    await page.keyboard.press('Space');
    await choices(page).waitFor();
    for (let press = 0; press < 3; press += 1) await page.keyboard.press('Tab');
    await choices(page).waitFor({ state: 'detached' });
    await menuOf(page).focus();
    await page.keyboard.press('Enter');
    await choices(page).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByText('Records scored in').waitFor();
    expect(new URL(page.url()).pathname, 'a viewer has no page of keys').to.equal(`/o/${beta}/`);
    await eventually(async () => expect(await focused()).to.equal('Overview'));
    const pages = await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents();
    expect(pages).to.deep.equal(viewerPages);
    await menuOf(page).click();
    await page.getByRole('heading', { name: 'Overview' }).click();
    await choices(page).waitFor({ state: 'detached' });
    await opened.close();
  });

  it('hides its list by a key that comes before the next frame', async () => {
    const opened = await keysOfTwo();
    const { page } = opened;
    // The page draws the list in a microtask. Another press on the keyboard would come after a frame.
    const wasDrawn = await page.evaluate(`(async () => {
      const button = document.querySelector('.organisations button');
      button.click();
      for (let microtask = 0; microtask < 10; microtask += 1) await Promise.resolve();
      const state = button.getAttribute('aria-expanded');
      document.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }));
      return state;
    })()`);
    expect(wasDrawn).to.equal('true');
    await choices(page).waitFor({ state: 'detached' });
    await opened.close();
  });

  it('is only a name for a person of one organisation, whose pages show nothing of another one', async () => {
    const opened = await site.open({}, [401, 404]);
    const { page } = opened;
    await opened.signIn('owner', beta);
    await page.getByText('No models yet').waitFor();
    expect(await menuOf(page).count()).to.equal(0);
    expect(await page.locator('.who').textContent()).to.match(/^Betaorg_/);
    for (const address of ['/', '/models', `/models/${filled.model._id}`, '/keys', '/settings', '/audit']) {
      await page.goto(`${site.service.url}/o/${filled.id}${address}`);
      await page.getByRole('alert').filter({ hasText: 'There is no' }).first().waitFor();
      expect(await page.locator('body').textContent()).to.not.match(/Acme|HubSpot|Conversion/);
    }
    await opened.close();
  });

  it('says that it is loading, and that the list cannot be read', async () => {
    const opened = await site.open({}, [401, 503]);
    const { page } = opened;
    await opened.signIn('operator');
    await page.getByText('Page 1').waitFor();
    const list = '**/admin/v1/orgs?limit=50';
    const answer = await holdReplies(page, list, unavailable);
    await menuOf(page).click();
    await choices(page).getByRole('status').filter({ hasText: 'Loading…' }).waitFor();
    answer();
    await choices(page).getByRole('alert').filter({ hasText: unavailable.json.error.message }).waitFor();
    await opened.check('organisations-unavailable');
    await page.unroute(list);
    await choices(page).getByRole('button', { name: 'Try again' }).click();
    await choices(page).getByRole('link', { name: 'Beta' }).waitFor();
    await opened.close();
  });

  for (const appearance of appearances.filter(({ colorScheme }) => colorScheme === 'light')) {
    it(`lists some of many organisations with long names, at ${appearance.viewport.width}`, async () => {
      const ids: string[] = [];
      for (let count = 0; count < many; count += 1) {
        const number = String(count).padStart(2, '0');
        ids.push(await site.service.newOrganisation(longName.slice(0, -3) + number));
      }
      const opened = await memberOf(
        ids.map((id) => [id, 'viewer'] as const),
        appearance,
      );
      const { page } = opened;
      await page.goto(site.service.url);
      await page.getByText('No models yet').waitFor();
      await openSide(page);
      await menuOf(page).click();
      expect(await choices(page).getByRole('link').count()).to.equal(50);
      await opened.check('organisations-many');
      await choices(page)
        .getByRole('button', { name: `Show ${many - 50} more organisations` })
        .click();
      expect(await choices(page).getByRole('link').count()).to.equal(many);
      await choices(page)
        .getByText(`${ids.at(-1)}, viewer`)
        .click();
      await page.waitForURL(`${site.service.url}/o/${ids.at(-1)}/`);
      await page.getByText('No models yet').waitFor();
      await opened.close();
    });
  }
});
